"""Post JSON to a service that scores, and turn whatever goes wrong into a `RerankError`."""

from __future__ import annotations

import json
import ssl
import time
from typing import TYPE_CHECKING, Any, Final

import orjson

from mem_opensearch.client.failures import is_cut_off, retry_after
from mem_opensearch.client.per_process import PerProcess
from mem_opensearch.errors import ConfigError, RerankError
from mem_opensearch.extras import require
from mem_opensearch.rerank.replies import error_code

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx
    from pydantic import SecretStr

_MOST_BYTES: Final = 16_000_000  # of an answer: the scores of 10,000 texts are a tenth of it
_PASSING: Final = frozenset({408, 409, 425, 429})
_SERVER_FAILURE: Final = 500
_REFUSED: Final = {
    402: "the account has no credit left",
    404: "nothing is at this address, or no such model is there: check 'url' and 'model'",
    413: "the request is too large: lower 'most_texts' or 'most_characters'",
}
_REQUEST_REFUSED: Final = "it refuses the request: check 'model', and lower 'most_texts' or 'most_characters'"


class Endpoint:
    """One address of a service. Threads may share it; a forked child gets connections of its own.

    Args:
        url: the whole address, path included.
        scorer: name for messages.
        key: sent as ``Authorization: Bearer ...``; None sends none.
        key_from: where the key comes from, for the message when it is refused.
        timeout: seconds that connecting, and then the whole answer, may each take.
        ca_certs: path of a PEM file with the authorities to trust instead of the usual ones.

    Raises:
        MissingExtraError: httpx is not installed.
        ConfigError: `ca_certs` can't be read.
    """

    def __init__(
        self,
        url: str,
        *,
        scorer: str,
        key: SecretStr | None,
        key_from: str,
        timeout: float,
        ca_certs: str | None = None,
    ) -> None:
        self._httpx: Any = require("httpx", extra="rerank", purpose=f"the reranker '{scorer}'")
        self._url = url
        self._scorer = scorer
        self._key = key
        self._key_from = key_from
        self._timeout = timeout
        self._ca_certs = ca_certs
        self._clients: PerProcess[httpx.Client] = PerProcess(self._open(), self._open)

    def _open(self) -> httpx.Client:
        """Return a client. It follows no redirect: key and memories go where they were meant to go, or nowhere."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key.get_secret_value()}"
        client: httpx.Client = self._httpx.Client(headers=headers, timeout=self._timeout, verify=self._trust())
        return client

    def _trust(self) -> ssl.SSLContext | bool:
        if self._ca_certs is None:
            return True
        try:
            return ssl.create_default_context(cafile=self._ca_certs)
        except OSError as error:
            raise ConfigError(
                f"option 'ca_certs': {self._ca_certs} can't be read as a PEM file: {error.strerror or error}"
            ) from None

    def close(self) -> None:
        """End the connections; a later request opens new ones."""
        client, self._clients.current = self._clients.current, None
        if client is not None:
            client.close()

    def post(self, body: Mapping[str, Any]) -> object:
        """Return the decoded answer to `body`.

        Raises:
            RerankError: no answer, a status other than 2xx, or no JSON. Its message holds nothing of what was sent, and
                of the answer the status and an error code at most.
        """
        # Half a surrogate pair has no form in UTF-8, and stands in a memory that was cut in the middle of an emoji.
        content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        try:
            with self._clients.get().stream("POST", self._url, content=content) as response:
                answer = self._read(response)
        except self._httpx.TimeoutException:
            raise self._too_slow() from None
        except self._httpx.HTTPError as error:
            raise self._no_answer(error) from None
        except RuntimeError:  # what httpx says of a client that another thread closes
            raise self._error("the connections were closed meanwhile", retryable=True) from None
        return self._decoded(response, answer)

    def _read(self, response: httpx.Response) -> bytes:
        """Return the body. httpx's own timeout is for each piece of it, and pieces may drip in for ever."""
        deadline = time.monotonic() + self._timeout
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if time.monotonic() > deadline:
                raise self._too_slow()
            if len(body) > _MOST_BYTES:
                raise self._error(f"the answer is longer than {_MOST_BYTES:,} bytes: check 'url'")
        return bytes(body)

    def _decoded(self, response: httpx.Response, body: bytes) -> object:
        try:
            answer: object = orjson.loads(body)
        except orjson.JSONDecodeError:
            if response.is_success:
                raise self._error(
                    f"the answer (status {response.status_code}) is no JSON; check that 'url' is a rerank endpoint",
                    retryable=is_cut_off(response.headers, body),
                ) from None
            answer = None
        if not response.is_success:
            raise self._refused(response, error_code(answer))
        return answer

    def _refused(self, response: httpx.Response, code: str) -> RerankError:
        status = response.status_code
        said = f"status {status}" + (f" {code}" if code else "")
        wait = retry_after(response.headers)
        if status in _PASSING or status >= _SERVER_FAILURE:
            asked = "" if wait is None else f"; it asks to wait {wait:.0f} s"
            return self._error(f"{said}{asked}", retryable=True, wait=wait)
        if status == 401:  # noqa: PLR2004
            return self._error(f"{said}: the service refuses the key: check {self._key_from}")
        if status == 403:  # noqa: PLR2004
            return self._error(f"{said}: the key may not use this service or model: check {self._key_from} and 'model'")
        if response.is_redirect:
            return self._error(f"{said}: the service is at another address, and redirects are not followed: mend 'url'")
        return self._error(f"{said}: {_REFUSED.get(status, _REQUEST_REFUSED)}")

    def _no_answer(self, error: Exception) -> RerankError:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLCertVerificationError):
                return self._error(
                    "its certificate is not trusted: check 'url', or name the authority's file with 'ca_certs'"
                )
            cause = cause.__cause__ or cause.__context__
        # The name alone: httpx's own words may quote a header, and with it the key.
        return self._error(f"no answer ({type(error).__name__}); check that it runs there", retryable=True)

    def _too_slow(self) -> RerankError:
        return self._error(f"no answer within {self._timeout:g} s", retryable=True)

    def _error(self, what: str, *, retryable: bool = False, wait: float | None = None) -> RerankError:
        message = f"{self._scorer} at {self._url}: {what}"
        return RerankError(message, scorer=self._scorer, retryable=retryable, retry_after=wait)
