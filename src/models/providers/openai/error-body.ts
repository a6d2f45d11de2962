// What servers that speak OpenAI's protocol say of a failure, in whichever form they say it.

import type { SecretMask } from '../../../net/secret-mask.ts'
import { stringifyUpTo } from '../../../shared/incremental-json.ts'
import { createErrorTextRedactor } from '../shared/error-text-redaction.ts'

export interface OpenAiErrorBody {
  /** Empty where nothing was said. */
  readonly message: string
  /** The field of the request that is to blame, as OpenAI names places: `messages[0].role`. */
  readonly param: string | null
  /** Its word for it, or its number. */
  readonly code: string | null
  /** The kind of the error. */
  readonly type: string | null
  /** Whether it is an error object, of whatever kind: the answer is the server's own, and not that of something before it. */
  readonly own: boolean
}

type JsonRecord = Readonly<Record<string, unknown>>

interface ErrorText {
  readonly text: string
  /** Of the first field that they name. */
  readonly param: string | null
}

/** Of an error object, in bytes: what is longer says nothing to anybody. */
const MAX_BODY_LENGTH = 1_048_576
/** What is shown of it, in characters, and of a name. */
const MAX_SHOWN_LENGTH = 500
const MAX_SHOWN_NAME = 100
/** Of a list of problems. */
const MAX_PROBLEMS = 10
/** Texts within objects within objects. */
const MAX_LAYERS = 3

const EMPTY_ERROR_BODY: OpenAiErrorBody = { message: '', param: null, code: null, type: null, own: false }

/** How a field is named in mere words: by older vLLM (problems of Pydantic as Python writes them), by Azure, and by servers in Go. */
const FIELD_NAME_PATTERNS: readonly RegExp[] = [
  /'loc': \('body', '([\w.]+)'/,
  /\bunrecognized request arguments? supplied: ([\w.]+)/i,
  /\bunknown (?:field|name|parameter):? ["'`]([\w.[\]]+)["'`]/i,
]

/**
 * The error in a body: OpenAI's `{"error": {"message", "param", "code", "type"}}`, or what others send in its place, which is
 * `{"detail": "…"}` and `{"detail": [{"loc", "msg"}]}` (FastAPI), `{"object": "error", "message", …}` (vLLM, and Mistral, whose message may be such a
 * detail), `{"error": "…"}` (Ollama), `{"message"}` and `{"errors": [{"message"}]}`, each of them alone or in a list. The key is looked for in what was
 * read, as JSON can write it in many ways.
 */
export function parseErrorBody(text: string, credential: string | null): OpenAiErrorBody {
  if (text.length > MAX_BODY_LENGTH) return EMPTY_ERROR_BODY
  const given = parseJsonOrNull(text)
  const body: unknown = Array.isArray(given) ? given[0] : given
  if (!isRecord(body)) return EMPTY_ERROR_BODY
  const error = isRecord(body.error) ? body.error : body
  const errorText = findErrorText([error.message, body.error, body.message, body.detail, body.errors])
  const redact = createErrorTextRedactor(credential)
  if (errorText === null) return { ...EMPTY_ERROR_BODY, ...readIdentifiers(error, redact), own: 'error' in body }
  const message = redact(errorText.text)
  // Starlette's and others' answer to a path that is not there.
  const own = !/^not found$/i.test(errorText.text)
  const { param, ...rest } = readIdentifiers(error, redact)
  const blamedField = errorText.param === null ? findFieldName(message) : readIdentifier(errorText.param, redact)
  return { message: truncateMessage(message), ...rest, param: param ?? blamedField, own }
}

/** The JSON text of an error object, for `toldIn`. */
export function stringifyErrorBody(told: JsonRecord): string {
  return stringifyUpTo(told, MAX_BODY_LENGTH) ?? '{}'
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
  return redact(String(value)).slice(0, MAX_SHOWN_NAME) || null
}

function findFieldName(message: string): string | null {
  const found = FIELD_NAME_PATTERNS.map((named) => named.exec(message)?.[1]).find((name) => name !== undefined)
  return found?.slice(0, MAX_SHOWN_NAME) ?? null
}

function findErrorText(values: readonly unknown[], layers = MAX_LAYERS): ErrorText | null {
  for (const value of values) {
    const words = readErrorText(value, layers)
    if (words) return words
  }
  return null
}

/** A text, a list of problems, or an object that holds one of them. */
function readErrorText(value: unknown, layers: number): ErrorText | null {
  if (typeof value === 'string') return value.trim() === '' ? null : { text: value.trim(), param: null }
  if (layers === 0) return null
  if (Array.isArray(value)) {
    const problems = value.slice(0, MAX_PROBLEMS).flatMap((one) => readErrorText(one, layers - 1) ?? [])
    if (problems.length === 0) return null
    const param = problems.find((one) => one.param !== null)?.param ?? null
    return { text: problems.map(({ text }) => text).join('; '), param }
  }
  if (!isRecord(value)) return null
  const words = findErrorText([value.message, value.msg, value.detail, value.error], layers - 1)
  const place = formatLocation(value.loc)
  return words && place !== null ? { text: `${place}: ${words.text}`, param: place } : words
}

/** Where a problem of FastAPI is: `["body", "messages", 0, "role"]` is `messages[0].role`. Null where that is no field of the body. */
function formatLocation(loc: unknown): string | null {
  if (!Array.isArray(loc) || loc[0] !== 'body' || typeof loc[1] !== 'string') return null
  const steps = loc.slice(2).map((step: unknown) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
  return loc[1] + steps.join('')
}

function truncateMessage(text: string): string {
  return text.length <= MAX_SHOWN_LENGTH ? text : `${text.slice(0, MAX_SHOWN_LENGTH)}…`
}

function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null
}
