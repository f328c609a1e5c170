"""Time zones and the offsets they have in a year: data, from the public time zone database.

Names of regions and cities, with the offset all year, or the standard and the summer one. The planner
needs no more: it asks whether an offset that the service shows can be that of a declared name.
tests/core/test_zones.py holds the table against the database.
"""

from collections.abc import Mapping

_BY_OFFSETS = {
    "-11": """
        Pacific/Midway Pacific/Niue Pacific/Pago_Pago Pacific/Samoa
    """,
    "-10": """
        Pacific/Honolulu Pacific/Johnston Pacific/Rarotonga Pacific/Tahiti
    """,
    "-10 -9": """
        America/Adak America/Atka
    """,
    "-9:30": """
        Pacific/Marquesas
    """,
    "-9": """
        Pacific/Gambier
    """,
    "-9 -8": """
        America/Anchorage America/Juneau America/Metlakatla America/Nome America/Sitka
        America/Yakutat
    """,
    "-8": """
        Pacific/Pitcairn
    """,
    "-8 -7": """
        America/Ensenada America/Los_Angeles America/Santa_Isabel America/Tijuana America/Vancouver
    """,
    "-7": """
        America/Creston America/Dawson America/Dawson_Creek America/Fort_Nelson America/Hermosillo
        America/Mazatlan America/Phoenix America/Whitehorse
    """,
    "-7 -6": """
        America/Boise America/Cambridge_Bay America/Ciudad_Juarez America/Denver America/Edmonton
        America/Inuvik America/Shiprock America/Yellowknife
    """,
    "-6": """
        America/Bahia_Banderas America/Belize America/Chihuahua America/Costa_Rica
        America/El_Salvador America/Guatemala America/Managua America/Merida America/Mexico_City
        America/Monterrey America/Regina America/Swift_Current America/Tegucigalpa Pacific/Galapagos
    """,
    "-6 -5": """
        America/Chicago America/Indiana/Knox America/Indiana/Tell_City America/Knox_IN
        America/Matamoros America/Menominee America/North_Dakota/Beulah America/North_Dakota/Center
        America/North_Dakota/New_Salem America/Ojinaga America/Rainy_River America/Rankin_Inlet
        America/Resolute America/Winnipeg Pacific/Easter
    """,
    "-5": """
        America/Atikokan America/Bogota America/Cancun America/Cayman America/Coral_Harbour
        America/Eirunepe America/Guayaquil America/Jamaica America/Lima America/Panama
        America/Porto_Acre America/Rio_Branco
    """,
    "-5 -4": """
        America/Detroit America/Fort_Wayne America/Grand_Turk America/Havana
        America/Indiana/Indianapolis America/Indiana/Marengo America/Indiana/Petersburg
        America/Indiana/Vevay America/Indiana/Vincennes America/Indiana/Winamac America/Indianapolis
        America/Iqaluit America/Kentucky/Louisville America/Kentucky/Monticello America/Louisville
        America/Montreal America/Nassau America/New_York America/Nipigon America/Pangnirtung
        America/Port-au-Prince America/Thunder_Bay America/Toronto
    """,
    "-4": """
        America/Anguilla America/Antigua America/Aruba America/Barbados America/Blanc-Sablon
        America/Boa_Vista America/Campo_Grande America/Caracas America/Cuiaba America/Curacao
        America/Dominica America/Grenada America/Guadeloupe America/Guyana America/Kralendijk
        America/La_Paz America/Lower_Princes America/Manaus America/Marigot America/Martinique
        America/Montserrat America/Port_of_Spain America/Porto_Velho America/Puerto_Rico
        America/Santo_Domingo America/St_Barthelemy America/St_Kitts America/St_Lucia
        America/St_Thomas America/St_Vincent America/Tortola America/Virgin
    """,
    "-4 -3": """
        America/Glace_Bay America/Goose_Bay America/Halifax America/Moncton America/Santiago
        America/Thule Atlantic/Bermuda
    """,
    "-3:30 -2:30": """
        America/St_Johns
    """,
    "-3": """
        America/Araguaina America/Argentina/Buenos_Aires America/Argentina/Catamarca
        America/Argentina/ComodRivadavia America/Argentina/Cordoba America/Argentina/Jujuy
        America/Argentina/La_Rioja America/Argentina/Mendoza America/Argentina/Rio_Gallegos
        America/Argentina/Salta America/Argentina/San_Juan America/Argentina/San_Luis
        America/Argentina/Tucuman America/Argentina/Ushuaia America/Asuncion America/Bahia
        America/Belem America/Buenos_Aires America/Catamarca America/Cayenne America/Cordoba
        America/Coyhaique America/Fortaleza America/Jujuy America/Maceio America/Mendoza
        America/Montevideo America/Paramaribo America/Punta_Arenas America/Recife America/Rosario
        America/Santarem America/Sao_Paulo Atlantic/Stanley
    """,
    "-3 -2": """
        America/Miquelon
    """,
    "-2": """
        America/Noronha Atlantic/South_Georgia
    """,
    "-2 -1": """
        America/Godthab America/Nuuk America/Scoresbysund
    """,
    "-1": """
        Atlantic/Cape_Verde
    """,
    "-1 0": """
        Atlantic/Azores
    """,
    "0": """
        Africa/Abidjan Africa/Accra Africa/Bamako Africa/Banjul Africa/Bissau Africa/Conakry
        Africa/Dakar Africa/Freetown Africa/Lome Africa/Monrovia Africa/Nouakchott
        Africa/Ouagadougou Africa/Sao_Tome Africa/Timbuktu America/Danmarkshavn Atlantic/Reykjavik
        Atlantic/St_Helena Etc/UTC UTC
    """,
    "0 +1": """
        Atlantic/Canary Atlantic/Faeroe Atlantic/Faroe Atlantic/Madeira Europe/Belfast Europe/Dublin
        Europe/Guernsey Europe/Isle_of_Man Europe/Jersey Europe/Lisbon Europe/London
    """,
    "+1": """
        Africa/Algiers Africa/Bangui Africa/Brazzaville Africa/Casablanca Africa/Douala
        Africa/El_Aaiun Africa/Kinshasa Africa/Lagos Africa/Libreville Africa/Luanda Africa/Malabo
        Africa/Ndjamena Africa/Niamey Africa/Porto-Novo Africa/Tunis
    """,
    "+1 +2": """
        Africa/Ceuta Atlantic/Jan_Mayen Europe/Amsterdam Europe/Andorra Europe/Belgrade
        Europe/Berlin Europe/Bratislava Europe/Brussels Europe/Budapest Europe/Busingen
        Europe/Copenhagen Europe/Gibraltar Europe/Ljubljana Europe/Luxembourg Europe/Madrid
        Europe/Malta Europe/Monaco Europe/Oslo Europe/Paris Europe/Podgorica Europe/Prague
        Europe/Rome Europe/San_Marino Europe/Sarajevo Europe/Skopje Europe/Stockholm Europe/Tirane
        Europe/Vaduz Europe/Vatican Europe/Vienna Europe/Warsaw Europe/Zagreb Europe/Zurich
    """,
    "+2": """
        Africa/Blantyre Africa/Bujumbura Africa/Gaborone Africa/Harare Africa/Johannesburg
        Africa/Juba Africa/Khartoum Africa/Kigali Africa/Lubumbashi Africa/Lusaka Africa/Maputo
        Africa/Maseru Africa/Mbabane Africa/Tripoli Africa/Windhoek Europe/Kaliningrad
    """,
    "+2 +3": """
        Africa/Cairo Asia/Beirut Asia/Famagusta Asia/Gaza Asia/Hebron Asia/Jerusalem Asia/Nicosia
        Asia/Tel_Aviv Europe/Athens Europe/Bucharest Europe/Chisinau Europe/Helsinki Europe/Kiev
        Europe/Kyiv Europe/Mariehamn Europe/Nicosia Europe/Riga Europe/Sofia Europe/Tallinn
        Europe/Tiraspol Europe/Uzhgorod Europe/Vilnius Europe/Zaporozhye
    """,
    "+3": """
        Africa/Addis_Ababa Africa/Asmara Africa/Asmera Africa/Dar_es_Salaam Africa/Djibouti
        Africa/Kampala Africa/Mogadishu Africa/Nairobi Asia/Aden Asia/Amman Asia/Baghdad
        Asia/Bahrain Asia/Damascus Asia/Istanbul Asia/Kuwait Asia/Qatar Asia/Riyadh Europe/Istanbul
        Europe/Kirov Europe/Minsk Europe/Moscow Europe/Simferopol Europe/Volgograd
        Indian/Antananarivo Indian/Comoro Indian/Mayotte
    """,
    "+3:30": """
        Asia/Tehran
    """,
    "+4": """
        Asia/Baku Asia/Dubai Asia/Muscat Asia/Tbilisi Asia/Yerevan Europe/Astrakhan Europe/Samara
        Europe/Saratov Europe/Ulyanovsk Indian/Mahe Indian/Mauritius Indian/Reunion
    """,
    "+4:30": """
        Asia/Kabul
    """,
    "+5": """
        Asia/Almaty Asia/Aqtau Asia/Aqtobe Asia/Ashgabat Asia/Ashkhabad Asia/Atyrau Asia/Dushanbe
        Asia/Karachi Asia/Oral Asia/Qostanay Asia/Qyzylorda Asia/Samarkand Asia/Tashkent
        Asia/Yekaterinburg Indian/Kerguelen Indian/Maldives
    """,
    "+5:30": """
        Asia/Calcutta Asia/Colombo Asia/Kolkata
    """,
    "+5:45": """
        Asia/Kathmandu Asia/Katmandu
    """,
    "+6": """
        Asia/Bishkek Asia/Dacca Asia/Dhaka Asia/Kashgar Asia/Omsk Asia/Thimbu Asia/Thimphu
        Asia/Urumqi Indian/Chagos
    """,
    "+6:30": """
        Asia/Rangoon Asia/Yangon Indian/Cocos
    """,
    "+7": """
        Asia/Bangkok Asia/Barnaul Asia/Ho_Chi_Minh Asia/Hovd Asia/Jakarta Asia/Krasnoyarsk
        Asia/Novokuznetsk Asia/Novosibirsk Asia/Phnom_Penh Asia/Pontianak Asia/Saigon Asia/Tomsk
        Asia/Vientiane Indian/Christmas
    """,
    "+8": """
        Asia/Brunei Asia/Choibalsan Asia/Chongqing Asia/Chungking Asia/Harbin Asia/Hong_Kong
        Asia/Irkutsk Asia/Kuala_Lumpur Asia/Kuching Asia/Macao Asia/Macau Asia/Makassar Asia/Manila
        Asia/Shanghai Asia/Singapore Asia/Taipei Asia/Ujung_Pandang Asia/Ulaanbaatar Asia/Ulan_Bator
        Australia/Perth Australia/West
    """,
    "+8:45": """
        Australia/Eucla
    """,
    "+9": """
        Asia/Chita Asia/Dili Asia/Jayapura Asia/Khandyga Asia/Pyongyang Asia/Seoul Asia/Tokyo
        Asia/Yakutsk Pacific/Palau
    """,
    "+9:30": """
        Australia/Darwin Australia/North
    """,
    "+9:30 +10:30": """
        Australia/Adelaide Australia/Broken_Hill Australia/South Australia/Yancowinna
    """,
    "+10": """
        Asia/Ust-Nera Asia/Vladivostok Australia/Brisbane Australia/Lindeman Australia/Queensland
        Pacific/Chuuk Pacific/Guam Pacific/Port_Moresby Pacific/Saipan Pacific/Truk Pacific/Yap
    """,
    "+10 +11": """
        Australia/ACT Australia/Canberra Australia/Currie Australia/Hobart Australia/Melbourne
        Australia/NSW Australia/Sydney Australia/Tasmania Australia/Victoria
    """,
    "+10:30 +11": """
        Australia/LHI Australia/Lord_Howe
    """,
    "+11": """
        Asia/Magadan Asia/Sakhalin Asia/Srednekolymsk Pacific/Bougainville Pacific/Efate
        Pacific/Guadalcanal Pacific/Kosrae Pacific/Noumea Pacific/Pohnpei Pacific/Ponape
    """,
    "+11 +12": """
        Pacific/Norfolk
    """,
    "+12": """
        Asia/Anadyr Asia/Kamchatka Pacific/Fiji Pacific/Funafuti Pacific/Kwajalein Pacific/Majuro
        Pacific/Nauru Pacific/Tarawa Pacific/Wake Pacific/Wallis
    """,
    "+12 +13": """
        Pacific/Auckland
    """,
    "+12:45 +13:45": """
        Pacific/Chatham
    """,
    "+13": """
        Pacific/Apia Pacific/Enderbury Pacific/Fakaofo Pacific/Kanton Pacific/Tongatapu
    """,
    "+14": """
        Pacific/Kiritimati
    """,
}

# Name -> the offsets that it has in the course of a year, smallest first, as the service writes them.
OFFSETS: Mapping[str, tuple[str, ...]] = {
    name: tuple(offsets.split()) for offsets, names in _BY_OFFSETS.items() for name in names.split()
}
