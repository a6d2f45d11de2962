// Recognizes stream events that are no chunks: keep-alives and failures.

type JsonRecord = Readonly<Record<string, unknown>>

/** Event names that only tell that the server is alive; their data has no meaning and is often `null`. */
const KEEP_ALIVE_NAMES: ReadonlySet<string> = new Set(['ping', 'heartbeat', 'keepalive', 'keep-alive'])

/** `name` is empty where the event has none. */
export function isKeepAlive(name: string): boolean {
  return KEEP_ALIVE_NAMES.has(name)
}

/**
 * Finds the failure in an answer or a chunk, in any known form: the body itself, or the error of one of its choices as `{"error": …}`. Null where
 * there is none. Some servers send an empty error, or one with empty fields, along with each chunk: beside choices or vectors it means nothing.
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
