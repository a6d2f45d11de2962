// Turns all kinds of upload sources into one.
import { invalidArgumentError } from '../errors.ts'

/** Bytes to upload. A stream is read once, while it is sent. */
export type UploadSource = Blob | Uint8Array | ArrayBuffer | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>

/**
 * Returns the bytes, which can be read again where they are a `Blob`. `onError`
 * gets the errors of the caller's stream. @throws INVALID_ARGUMENT
 */
export function normalizeUploadSource(
  given: UploadSource,
  onError: (error: unknown) => void,
): Blob | AsyncIterable<Uint8Array> {
  if (given instanceof Blob) return given
  if (given instanceof Uint8Array || given instanceof ArrayBuffer) return new Blob([given as never])
  if (given instanceof ReadableStream) return reportErrors(readChunks(given), onError)
  if (isAsyncIterable(given)) return reportErrors(given, onError)
  throw invalidArgumentError('An upload source must be a Blob, bytes, or a stream of bytes.')
}

function isAsyncIterable(given: unknown): given is AsyncIterable<Uint8Array> {
  return typeof given === 'object' && given !== null && Symbol.asyncIterator in given
}

/** Some browsers cannot iterate over a stream. */
async function* readChunks(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const reader = stream.getReader()
  let whole = false
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
    whole = true
  } finally {
    if (!whole) void reader.cancel().catch(() => {})
  }
}

async function* reportErrors(
  chunks: AsyncIterable<Uint8Array>,
  onError: (error: unknown) => void,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    for await (const chunk of chunks) {
      if (!(chunk instanceof Uint8Array)) throw invalidArgumentError('A stream to upload must yield Uint8Arrays.')
      yield chunk
    }
  } catch (error) {
    onError(error)
    throw error
  }
}
