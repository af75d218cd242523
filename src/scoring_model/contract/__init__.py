"""The contract: the fields of a record, their rules, and the resources of the HTTP interface.

The service, its client, files and frames share it. It loads pydantic and nothing else.
"""
