"""askalike mcp: tools for assistants to search an archive."""

from typing import Annotated

from typer import Option

from askalike.cli._options import Assignments, Directory, Engine, Fields, RankerName, build_ranker
from askalike.cli._output import print_remark
from askalike.search.local import LocalEngine
from askalike.store import Archive


def mcp_command(
    directory: Directory,
    ranker: RankerName = None,
    settings: Assignments = None,
    fields: Fields = None,
    engine: Engine = None,
    http: Annotated[bool, Option("--http", help="Listen over HTTP instead of standard input and output.")] = False,
    host: Annotated[str, Option(metavar="ADDRESS", help="With --http: the address to listen at.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="With --http: the port; 0 picks a free one.")] = 8081,
    require_keys: Annotated[
        bool, Option("--require-keys", help="With --http: require a key on loopback, too.")
    ] = False,
) -> None:
    """Serve an archive's read-only tools to assistants over the Model Context Protocol.

    The tools: search, fetch and similar_questions.

    Examples:

    ```
    askalike mcp DIR
    askalike mcp DIR --http --port 8081
    ```
    """
    from askalike.integrations.mcp import require_extra

    require_extra()
    from askalike.integrations.mcp.server import create_server
    from askalike.integrations.mcp.transports import serve_http, serve_stdio

    with (
        Archive.open(directory, engine) as archive,
        LocalEngine(archive, build_ranker(archive, ranker, settings, fields)) as opened,
    ):
        server = create_server(opened)
        if http:
            serve_http(server, directory, host, port, require_keys, lambda url: print_remark(f"askalike: MCP at {url}"))
        else:
            serve_stdio(server)
