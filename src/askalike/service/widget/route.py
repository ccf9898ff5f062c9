"""`widget.js`: the script, which a page of any site includes with one tag."""

from hashlib import sha256

from fastapi import APIRouter, Request, Response

from askalike.service.widget import load_script

SCRIPT_TYPE = "text/javascript; charset=utf-8"
MAX_AGE_S = 3_600

router = APIRouter(tags=["widget"])


@router.get(
    "/widget.js",
    summary="Load the widget",
    response_class=Response,
    responses={200: {"content": {"text/javascript": {}}}},
)
async def get_widget(request: Request) -> Response:
    """Return the script. Anybody may load it; it contains no secret."""
    script = load_script()
    etag = f'"{sha256(script).hexdigest()[:16]}"'
    headers = {
        "etag": etag,
        "cache-control": f"public, max-age={MAX_AGE_S}",
        "cross-origin-resource-policy": "cross-origin",
        "access-control-allow-origin": "*",
    }
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(script, headers=headers, media_type=SCRIPT_TYPE)
