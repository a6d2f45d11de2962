// What servers that speak OpenAI's protocol say of a failure, in whichever form they say it.
import { jsonTextWithin } from '../json-steps.ts'
import type { Mask } from '../net/mask.ts'
import { safeWords } from './safe-words.ts'

export interface Told {
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

type Json = Readonly<Record<string, unknown>>

interface Words {
  readonly text: string
  /** Of the first field that they name. */
  readonly param: string | null
}

/** Of an error object, in bytes: what is longer says nothing to anybody. */
const LONGEST = 1_048_576
/** What is shown of it, in characters, and of a name. */
const SHOWN = 500
const SHOWN_NAME = 100
/** Of a list of problems. */
const MOST_PROBLEMS = 10
/** Texts within objects within objects. */
const LAYERS = 3

const NOTHING: Told = { message: '', param: null, code: null, type: null, own: false }

/** How a field is named in mere words: by older vLLM (problems of Pydantic as Python writes them), by Azure, and by servers in Go. */
const NAMED: readonly RegExp[] = [
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
export function toldIn(text: string, credential: string | null): Told {
  if (text.length > LONGEST) return NOTHING
  const given = parsed(text)
  const body: unknown = Array.isArray(given) ? given[0] : given
  if (!isRecord(body)) return NOTHING
  const error = isRecord(body.error) ? body.error : body
  const words = firstWords([error.message, body.error, body.message, body.detail, body.errors])
  const safe = safeWords(credential)
  if (words === null) return { ...NOTHING, ...named(error, safe), own: 'error' in body }
  const message = safe(words.text)
  // Starlette's and others' answer to a path that is not there.
  const own = !/^not found$/i.test(words.text)
  const { param, ...rest } = named(error, safe)
  const place = words.param === null ? namedIn(message) : nameOf(words.param, safe)
  return { message: shortened(message), ...rest, param: param ?? place, own }
}

/** The JSON text of an error object, for `toldIn`. */
export function errorText(told: Json): string {
  return jsonTextWithin(told, LONGEST) ?? '{}'
}

function named({ param, code, type }: Json, safe: Mask): Pick<Told, 'param' | 'code' | 'type'> {
  return { param: nameOf(param, safe), code: nameOf(code, safe), type: nameOf(type, safe) }
}

function nameOf(value: unknown, safe: Mask): string | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null
  return safe(String(value)).slice(0, SHOWN_NAME) || null
}

function namedIn(message: string): string | null {
  const found = NAMED.map((named) => named.exec(message)?.[1]).find((name) => name !== undefined)
  return found?.slice(0, SHOWN_NAME) ?? null
}

function firstWords(values: readonly unknown[], layers = LAYERS): Words | null {
  for (const value of values) {
    const words = wordsOf(value, layers)
    if (words) return words
  }
  return null
}

/** A text, a list of problems, or an object that holds one of them. */
function wordsOf(value: unknown, layers: number): Words | null {
  if (typeof value === 'string') return value.trim() === '' ? null : { text: value.trim(), param: null }
  if (layers === 0) return null
  if (Array.isArray(value)) {
    const problems = value.slice(0, MOST_PROBLEMS).flatMap((one) => wordsOf(one, layers - 1) ?? [])
    if (problems.length === 0) return null
    const param = problems.find((one) => one.param !== null)?.param ?? null
    return { text: problems.map(({ text }) => text).join('; '), param }
  }
  if (!isRecord(value)) return null
  const words = firstWords([value.message, value.msg, value.detail, value.error], layers - 1)
  const place = placeOf(value.loc)
  return words && place !== null ? { text: `${place}: ${words.text}`, param: place } : words
}

/** Where a problem of FastAPI is: `["body", "messages", 0, "role"]` is `messages[0].role`. Null where that is no field of the body. */
function placeOf(loc: unknown): string | null {
  if (!Array.isArray(loc) || loc[0] !== 'body' || typeof loc[1] !== 'string') return null
  const steps = loc.slice(2).map((step: unknown) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
  return loc[1] + steps.join('')
}

function shortened(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}…`
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null
}
