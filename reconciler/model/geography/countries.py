"""Countries as people write them: data. Two-letter codes of ISO 3166-1, and the names in English.

A few names stand beside the first one where people use several. Nothing but the table belongs here; what a
country decides is in core/declared/values.
"""

from collections.abc import Mapping

_NAMES = """
AD Andorra
AE United Arab Emirates | UAE
AF Afghanistan
AG Antigua and Barbuda
AI Anguilla
AL Albania
AM Armenia
AO Angola
AQ Antarctica
AR Argentina
AS American Samoa
AT Austria | Österreich
AU Australia | AUS
AW Aruba
AX Åland Islands
AZ Azerbaijan
BA Bosnia and Herzegovina
BB Barbados
BD Bangladesh
BE Belgium | België | Belgique
BF Burkina Faso
BG Bulgaria
BH Bahrain
BI Burundi
BJ Benin
BL Saint Barthélemy
BM Bermuda
BN Brunei | Brunei Darussalam
BO Bolivia
BQ Bonaire, Sint Eustatius and Saba
BR Brazil | Brasil
BS Bahamas | The Bahamas
BT Bhutan
BV Bouvet Island
BW Botswana
BY Belarus
BZ Belize
CA Canada | CAN
CC Cocos Islands
CD Congo-Kinshasa | Democratic Republic of the Congo
CF Central African Republic
CG Congo | Congo-Brazzaville | Republic of the Congo
CH Switzerland | Schweiz | Suisse | Svizzera
CI Côte d'Ivoire | Ivory Coast
CK Cook Islands
CL Chile
CM Cameroon
CN China
CO Colombia
CR Costa Rica
CU Cuba
CV Cape Verde | Cabo Verde
CW Curaçao
CX Christmas Island
CY Cyprus
CZ Czech Republic | Czechia
DE Germany | DEU | Deutschland
DJ Djibouti
DK Denmark | Danmark
DM Dominica
DO Dominican Republic
DZ Algeria
EC Ecuador
EE Estonia
EG Egypt
EH Western Sahara
ER Eritrea
ES Spain | España
ET Ethiopia
FI Finland
FJ Fiji
FK Falkland Islands
FM Micronesia
FO Faroe Islands
FR France | FRA
GA Gabon
GB United Kingdom | UK | U.K. | GBR | Great Britain | Britain | England | Scotland | Wales | Northern Ireland
GD Grenada
GE Georgia
GF French Guiana
GG Guernsey
GH Ghana
GI Gibraltar
GL Greenland
GM Gambia | The Gambia
GN Guinea
GP Guadeloupe
GQ Equatorial Guinea
GR Greece
GS South Georgia and the South Sandwich Islands
GT Guatemala
GU Guam
GW Guinea-Bissau
GY Guyana
HK Hong Kong | Hong Kong SAR
HM Heard Island and McDonald Islands
HN Honduras
HR Croatia
HT Haiti
HU Hungary
ID Indonesia
IE Ireland | IRL
IL Israel
IM Isle of Man
IN India | IND
IO British Indian Ocean Territory
IQ Iraq
IR Iran
IS Iceland
IT Italy | Italia
JE Jersey
JM Jamaica
JO Jordan
JP Japan | JPN
KE Kenya
KG Kyrgyzstan
KH Cambodia
KI Kiribati
KM Comoros
KN Saint Kitts and Nevis
KP North Korea
KR South Korea | Korea | Republic of Korea
KW Kuwait
KY Cayman Islands
KZ Kazakhstan
LA Laos
LB Lebanon
LC Saint Lucia
LI Liechtenstein
LK Sri Lanka
LR Liberia
LS Lesotho
LT Lithuania
LU Luxembourg
LV Latvia
LY Libya
MA Morocco
MC Monaco
MD Moldova
ME Montenegro
MF Saint Martin
MG Madagascar
MH Marshall Islands
MK North Macedonia | Macedonia
ML Mali
MM Myanmar | Burma
MN Mongolia
MO Macao | Macau
MP Northern Mariana Islands
MQ Martinique
MR Mauritania
MS Montserrat
MT Malta
MU Mauritius
MV Maldives
MW Malawi
MX Mexico | México
MY Malaysia | MYS
MZ Mozambique
NA Namibia
NC New Caledonia
NE Niger
NF Norfolk Island
NG Nigeria
NI Nicaragua
NL Netherlands | The Netherlands | Holland
NO Norway | Norge
NP Nepal
NR Nauru
NU Niue
NZ New Zealand | NZL | Aotearoa
OM Oman
PA Panama
PE Peru
PF French Polynesia
PG Papua New Guinea
PH Philippines | The Philippines
PK Pakistan
PL Poland
PM Saint Pierre and Miquelon
PN Pitcairn Islands | Pitcairn
PR Puerto Rico
PS Palestine | Palestinian Territories
PT Portugal
PW Palau
PY Paraguay
QA Qatar
RE Reunion
RO Romania
RS Serbia
RU Russia | Russian Federation
RW Rwanda
SA Saudi Arabia
SB Solomon Islands
SC Seychelles
SD Sudan
SE Sweden | Sverige
SG Singapore | SGP
SH Saint Helena
SI Slovenia
SJ Svalbard and Jan Mayen
SK Slovakia
SL Sierra Leone
SM San Marino
SN Senegal
SO Somalia
SR Suriname
SS South Sudan
ST Sao Tome and Principe
SV El Salvador
SX Sint Maarten
SY Syria
SZ Eswatini | Swaziland
TC Turks and Caicos Islands
TD Chad
TF French Southern Territories
TG Togo
TH Thailand
TJ Tajikistan
TK Tokelau
TL Timor-Leste | East Timor
TM Turkmenistan
TN Tunisia
TO Tonga
TR Turkey | Türkiye
TT Trinidad and Tobago
TV Tuvalu
TW Taiwan
TZ Tanzania
UA Ukraine
UG Uganda
UM United States Minor Outlying Islands
US United States | United States of America | USA | U.S.A. | U.S.
UY Uruguay
UZ Uzbekistan
VA Vatican City | Vatican | Holy See
VC Saint Vincent and the Grenadines
VE Venezuela
VG British Virgin Islands
VI U.S. Virgin Islands
VN Vietnam | Viet Nam
VU Vanuatu
WF Wallis and Futuna
WS Samoa
XK Kosovo
YE Yemen
YT Mayotte
ZA South Africa
ZM Zambia
ZW Zimbabwe
"""

# Code -> the name that messages show.
NAMES: Mapping[str, str] = {line[:2]: line[3:].partition(" | ")[0] for line in _NAMES.strip().splitlines()}

# Any way of writing a country, in small letters -> its code.
CODES: Mapping[str, str] = {
    written.lower(): line[:2]
    for line in _NAMES.strip().splitlines()
    for written in (line[:2], *line[3:].split(" | "))
}
