"""Keep the people, push devices and resources of a messaging service as YAML in git.

The data path, and where each step lives::

    manifests --load--> documents --resolve--> DESIRED --+
                                                         +- plan -> PLAN - guard -> report
    service --fetch---> wire ------normalize--> LIVE ----+            |
                                                         |            v
    store ----read----> ---------------------> RECORDED -+          apply -> outcomes -> report
                          ^                                           |
                          +------------- recorded --------------------+

Read `pipeline.py` first: one short function a verb.
"""

__version__ = "0.1.0"
