"""Countries as people write them, and time zones with their offsets in a year: public data, no decisions."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from zoneinfo import ZoneInfo

# --- Countries: codes of ISO 3166-1, English names, and other names in common use -----------------


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
COUNTRY_NAMES: Mapping[str, str] = {
    line[:2]: line[3:].partition(" | ")[0] for line in _NAMES.strip().splitlines()
}

# Any way of writing a country, in small letters -> its code.
COUNTRY_CODES: Mapping[str, str] = {
    written.lower(): line[:2]
    for line in _NAMES.strip().splitlines()
    for written in (line[:2], *line[3:].split(" | "))
}


# --- Time zones -----------------------------------------------------------------------------------
# From the package `tzdata`, not from the database of the machine: with the same version of the package the
# same manifests give the same plan everywhere, on any day.


_PACKAGE = "tzdata"
_minute = timedelta(minutes=1)


@cache
def zone_names() -> frozenset[str]:
    """Return the name of every zone."""
    return frozenset(files(_PACKAGE).joinpath("zones").read_text("utf-8").split())


@cache
def load_zone(name: str) -> ZoneInfo:
    """Return a zone. Raises KeyError for what is not in `zone_names`, before any file is looked for."""
    if name not in zone_names():
        raise KeyError(name)
    with files(_PACKAGE).joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, name)


@cache
def zones_with_abbreviation(abbreviation: str) -> tuple[str, ...]:
    """Return the zones that write this abbreviation in the course of a year, those of most people first."""
    return _zones_by_abbreviation().get(abbreviation.upper(), ())


@cache
def _zones_by_abbreviation() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    # The first table has one zone for each set of rules that is in force, the place with most people; the
    # second all zones but those that are another name of one.
    for table in ("zonenow.tab", "zone1970.tab"):
        for line in files(_PACKAGE).joinpath("zoneinfo", table).read_text("utf-8").splitlines():
            if line and not line.startswith("#"):
                name = line.split("\t")[2]
                for text in {month.tzname() for month in _monthly_moments(name)}:
                    if text and text.isalpha():
                        found.setdefault(text.upper(), {})[name] = None
    return {text: tuple(zones) for text, zones in found.items()}


def _monthly_moments(name: str) -> tuple[datetime, ...]:
    """Return a moment of each month of the year of the database, in a zone."""
    year = int(version(_PACKAGE).partition(".")[0])
    return tuple(datetime(year, month, 15, tzinfo=load_zone(name)) for month in range(1, 13))


@cache
def zone_offsets(name: str) -> tuple[str, ...]:
    """Return the offsets of a zone in the course of a year, smallest first, as the service writes them.

    The year is that of the database, so the rules are those that were known in it. Empty for what is no zone.
    """
    if name not in zone_names():
        return ()
    return tuple(
        map(_format_offset, sorted({month.utcoffset() or timedelta() for month in _monthly_moments(name)}))
    )


def _format_offset(offset: timedelta) -> str:
    hours, minutes = divmod(abs(offset) // _minute, 60)
    if not hours and not minutes:
        return "0"
    return f"{'-' if offset < timedelta() else '+'}{hours}" + (f":{minutes:02}" if minutes else "")
