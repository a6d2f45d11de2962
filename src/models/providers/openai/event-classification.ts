// What the events of a stream in OpenAI's form are besides chunks: signs of life, and failures.

type JsonRecord = Readonly<Record<string, unknown>>

/** Names of events that only say that the server is still there, whatever their data is: often `null`. */
const KEEP_ALIVE_NAMES: ReadonlySet<string> = new Set(['ping', 'heartbeat', 'keepalive', 'keep-alive'])

/** By the name of an event; empty where it has none. */
export function isKeepAlive(name: string): boolean {
  return KEEP_ALIVE_NAMES.has(name)
}

/**
 * What says in an answer, or in a piece of one, in one of the ways in which servers do that it failed: itself, or the error of one of its choices, as
 * `{"error": …}`. Null where it did not. Some send an error along with each chunk that is empty, or has
 * nothing in its fields: beside choices, or vectors, it says nothing.
 */
export function findFailure(given: JsonRecord): JsonRecord | null {
  const { error, object, choices, data, usage, message, detail, errors } = given
  if (object === 'error') return given
  if (Array.isArray(choices)) return isNonEmptyError(error) ? given : findChoiceFailure(choices)
  if (Array.isArray(data) && !isNonEmptyError(error)) return null
  if (error) return given
  return !usage && [message, detail, errors].some((one) => one !== undefined && one !== null) ? given : null
}

function findChoiceFailure(choices: readonly unknown[]): JsonRecord | null {
  for (const choice of choices) {
    const { error, finish_reason } = (choice ?? {}) as JsonRecord
    if (isNonEmptyError(error) || finish_reason === 'error') return { error: error || {} }
  }
  return null
}

function isNonEmptyError(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return Boolean(error)
  return Object.values(error).some((one) => (isObject(one) ? Object.keys(one).length > 0 : Boolean(one)))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
