"""What holds for every test: generated examples are the same in every run, unless chance is asked for.

A change must not fail because of an example that has nothing to do with it. `HYPOTHESIS_PROFILE=random
script/test` looks for new ones; what it finds becomes an `@example`, a golden folder or a named case.
"""

import os

from hypothesis import HealthCheck, settings

# Time says nothing about right or wrong on a machine that others use too.
settings.register_profile(
    "fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "random", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
