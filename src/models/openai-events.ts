// What the events of a stream in OpenAI's form are besides chunks: signs of life, and failures.

type Json = Readonly<Record<string, unknown>>

/** Names of events that only say that the server is still there, whatever their data is: often `null`. */
const SIGNS_OF_LIFE: ReadonlySet<string> = new Set(['ping', 'heartbeat', 'keepalive', 'keep-alive'])

/** By the name of an event; empty where it has none. */
export function isSignOfLife(name: string): boolean {
  return SIGNS_OF_LIFE.has(name)
}

/**
 * What says in an answer, or in a piece of one, in one of the ways in which servers do that it failed: itself, or the error of one of its choices, as
 * `{"error": …}`. Null where it did not. Some send an error along with each chunk that is empty, or has
 * nothing in its fields: beside choices, or vectors, it says nothing.
 */
export function failureIn(given: Json): Json | null {
  const { error, object, choices, data, usage, message, detail, errors } = given
  if (object === 'error') return given
  if (Array.isArray(choices)) return saysSomething(error) ? given : failureAmong(choices)
  if (Array.isArray(data) && !saysSomething(error)) return null
  if (error) return given
  return !usage && [message, detail, errors].some((one) => one !== undefined && one !== null) ? given : null
}

function failureAmong(choices: readonly unknown[]): Json | null {
  for (const choice of choices) {
    const { error, finish_reason } = (choice ?? {}) as Json
    if (saysSomething(error) || finish_reason === 'error') return { error: error || {} }
  }
  return null
}

function saysSomething(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return Boolean(error)
  return Object.values(error).some((one) => (isObject(one) ? Object.keys(one).length > 0 : Boolean(one)))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
