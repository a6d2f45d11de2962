// Parses the error bodies of servers that speak OpenAI's protocol, in all known forms.

import type { SecretMask } from '../../../net/secret-mask.ts'
import { stringifyUpTo } from '../../../shared/incremental-json.ts'
import { isObject } from '../../../shared/record.ts'
import { truncateText } from '../../../shared/text-truncation.ts'
import { createErrorTextRedactor } from '../shared/error-text-redaction.ts'

export interface OpenAiErrorBody {
  /** Empty where the body has no message. */
  readonly message: string
  /** The field that causes the error, in OpenAI's notation: `messages[0].role`. */
  readonly param: string | null
  /** The server's error code, a word or a number. */
  readonly code: string | null
  readonly type: string | null
  /** Whether the body is an error object of any form: then the model server itself answered, and not a proxy before it. */
  readonly own: boolean
}

type JsonRecord = Readonly<Record<string, unknown>>

interface ErrorText {
  readonly text: string
  /** The first field that the text names. */
  readonly param: string | null
}

/** Longer error objects are ignored. */
const MAX_BODY_LENGTH = 1_048_576
/** In characters, of a message and of a name. */
const MAX_SHOWN_LENGTH = 500
const MAX_SHOWN_NAME = 100
/** In a list of problems. */
const MAX_PROBLEMS = 10
/** The depth at which a text is searched in nested objects. */
const MAX_LAYERS = 3

const EMPTY_ERROR_BODY: OpenAiErrorBody = { message: '', param: null, code: null, type: null, own: false }

/** Messages that name a field: of older vLLM (Pydantic problems in Python's notation), of Azure, and of servers in Go. */
const FIELD_NAME_PATTERNS: readonly RegExp[] = [
  /'loc': \('body', '([\w.]+)'/,
  /\bunrecognized request arguments? supplied: ([\w.]+)/i,
  /\bunknown (?:field|name|parameter):? ["'`]([\w.[\]]+)["'`]/i,
]

/**
 * Reads OpenAI's `{"error": {"message", "param", "code", "type"}}` and the forms of other servers, alone or in a list:
 * `{"detail": "…"}` and `{"detail": [{"loc", "msg"}]}` (FastAPI), `{"object": "error", "message", …}` (vLLM, and Mistral, whose message may be a
 * FastAPI detail), `{"error": "…"}` (Ollama), `{"message"}` and `{"errors": [{"message"}]}`. The key is redacted after parsing, since JSON can
 * write it in many ways.
 */
export function parseErrorBody(text: string, credential: string | null): OpenAiErrorBody {
  if (text.length > MAX_BODY_LENGTH) return EMPTY_ERROR_BODY
  const given = parseJsonOrNull(text)
  const body: unknown = Array.isArray(given) ? given[0] : given
  if (!isObject(body)) return EMPTY_ERROR_BODY
  const error = isObject(body.error) ? body.error : body
  const errorText = findErrorText([error.message, body.error, body.message, body.detail, body.errors])
  const redact = createErrorTextRedactor(credential)
  if (errorText === null) return { ...EMPTY_ERROR_BODY, ...readIdentifiers(error, redact), own: 'error' in body }
  const message = redact(errorText.text)
  // Starlette and other frameworks answer `not found` for an unknown path.
  const own = !/^not found$/i.test(errorText.text)
  const { param, ...rest } = readIdentifiers(error, redact)
  const blamedField = errorText.param === null ? findFieldName(message) : readIdentifier(errorText.param, redact)
  return { message: truncateMessage(message), ...rest, param: param ?? blamedField, own }
}

/** The JSON text of an error object, for `parseErrorBody`. */
export function stringifyErrorBody(body: JsonRecord): string {
  return stringifyUpTo(body, MAX_BODY_LENGTH) ?? '{}'
}

function readIdentifiers(
  { param, code, type }: JsonRecord,
  redact: SecretMask,
): Pick<OpenAiErrorBody, 'param' | 'code' | 'type'> {
  return {
    param: readIdentifier(param, redact),
    code: readIdentifier(code, redact),
    type: readIdentifier(type, redact),
  }
}

function readIdentifier(value: unknown, redact: SecretMask): string | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null
  return truncateText(redact(String(value)), MAX_SHOWN_NAME) || null
}

function findFieldName(message: string): string | null {
  const found = FIELD_NAME_PATTERNS.map((named) => named.exec(message)?.[1]).find((name) => name !== undefined)
  return found === undefined ? null : truncateText(found, MAX_SHOWN_NAME)
}

function findErrorText(values: readonly unknown[], layers = MAX_LAYERS): ErrorText | null {
  for (const value of values) {
    const errorText = readErrorText(value, layers)
    if (errorText) return errorText
  }
  return null
}

/** `value` is a text, a list of problems, or an object with one of these. */
function readErrorText(value: unknown, layers: number): ErrorText | null {
  if (typeof value === 'string') return value.trim() === '' ? null : { text: value.trim(), param: null }
  if (layers === 0) return null
  if (Array.isArray(value)) {
    const problems = value.slice(0, MAX_PROBLEMS).flatMap((one) => readErrorText(one, layers - 1) ?? [])
    if (problems.length === 0) return null
    const param = problems.find((one) => one.param !== null)?.param ?? null
    return { text: problems.map(({ text }) => text).join('; '), param }
  }
  if (!isObject(value)) return null
  const errorText = findErrorText([value.message, value.msg, value.detail, value.error], layers - 1)
  const place = formatLocation(value.loc)
  return errorText && place !== null ? { text: `${place}: ${errorText.text}`, param: place } : errorText
}

/** Converts FastAPI's location `["body", "messages", 0, "role"]` to `messages[0].role`. Null where it is no field of the body. */
function formatLocation(loc: unknown): string | null {
  if (!Array.isArray(loc) || loc[0] !== 'body' || typeof loc[1] !== 'string') return null
  const steps = loc.slice(2).map((step: unknown) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
  return loc[1] + steps.join('')
}

function truncateMessage(text: string): string {
  return truncateText(text, MAX_SHOWN_LENGTH)
}

function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
