"""The tables of a database on a server."""

from scoring_model.service.store.postgres.connection import Connection, connect, require_durable, translate
from scoring_model.service.store.schema import VERSION_TABLE, SchemaMissing, SchemaOlder, check_version

_LOCK = "SELECT pg_advisory_xact_lock(hashtext('scoring-model migration'))"
_TABLES = "SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema()"


async def check_schema(dsn: str, *, seconds: float) -> None:
    """Refuse a database whose tables are not those of this version.

    Raises
    ------
    SchemaRefused
    StoreUnavailable
    """
    connection = await connect(dsn, seconds=seconds)
    try:
        check_version(*await _version(connection))
    finally:
        connection.terminate()


async def check_durability(dsn: str, *, seconds: float) -> None:
    """Refuse a server that can lose what it has acknowledged.

    Raises
    ------
    NotDurable
    StoreUnavailable
    """
    connection = await connect(dsn, seconds=seconds)
    try:
        await require_durable(connection)
    finally:
        connection.terminate()


async def migrate(dsn: str, *, seconds: float, only_new: bool = False) -> None:
    """Bring the tables to this version.

    Parameters
    ----------
    seconds : float
        How long to wait for the server; changing tables may take a hundred times as long.
    only_new : bool
        Whether a database that has tables already is refused as `check_schema` does.

    Raises
    ------
    SchemaRefused
        If the tables belong to a later version or to someone else.
    StoreUnavailable
    """
    connection = await connect(dsn, seconds=100 * seconds)
    try:
        await _migrate(connection, only_new=only_new)
    finally:
        # What was not committed is rolled back by the server.
        connection.terminate()


async def _migrate(connection: Connection, *, only_new: bool) -> None:
    try:
        await connection.execute(f"BEGIN; {_LOCK}")
        version, tables = await _version(connection)
        try:
            check_version(version, tables)
        except SchemaMissing:
            await _run(connection, None)
        except SchemaOlder:
            if only_new:
                raise
            await _run(connection, version)
        await connection.execute("COMMIT")
    except Exception as error:
        raise translate(error) from None


async def _run(connection: Connection, version: str | None) -> None:
    from scoring_model.service.store.migrations import script  # loads Alembic

    await connection.execute(script("postgresql", version))


async def _version(connection: Connection) -> tuple[str | None, list[str]]:
    try:
        tables = [str(name) for (name,) in await connection.fetch(_TABLES)]
        if VERSION_TABLE not in tables:
            return None, tables
        rows = await connection.fetch(f"SELECT version_num::text FROM {VERSION_TABLE}")
    except Exception as error:
        raise translate(error) from None
    return (str(rows[0][0]) if rows else None), tables
