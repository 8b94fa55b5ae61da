"""Writing the repository for people: what a cluster has as manifests, new manifests, single values, layout.

Everything here is values in, values out; what is written is read again by the reader of the rollout before anybody keeps it.
"""
