// Reads files and standard input as texts, within a limit, and describes why a file cannot be read.
import { constants, createReadStream, openSync, statSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { JsonInputError, parseJsonInput } from './json-input.ts'
import { CommandError, EXIT_CODES, stopExitCode, type Terminal } from './terminal.ts'

/** The path that stands for standard input. */
export const STDIN_PATH = '-'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'this user may not read it',
  EPERM: 'this user may not read it',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'its name is too long',
}

/** A path as messages show it. */
export function displayPath(path: string): string {
  return path === STDIN_PATH ? 'standard input' : path
}

export class InputReader {
  readonly #terminal: Terminal
  readonly #limit: number
  #usedStdin = false

  /** @param limit the longest text that is read, in bytes */
  constructor(terminal: Terminal, limit: number) {
    this.#terminal = terminal
    this.#limit = limit
  }

  /**
   * The whole text of a file, or of standard input for the path `-`, without a byte order mark.
   * @throws CommandError usage if it cannot be read, invalid if it is too large or not UTF-8
   */
  async text(path: string): Promise<string> {
    const chunks: Uint8Array[] = []
    let length = 0
    for await (const chunk of this.#chunks(path)) {
      length += chunk.length
      if (length > this.#limit) {
        throw new CommandError(
          EXIT_CODES.invalid,
          `${displayPath(path)} is larger than ${this.#limit} bytes (SVC_MAX_BODY_BYTES)`,
        )
      }
      chunks.push(chunk)
    }
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
    } catch {
      throw new CommandError(EXIT_CODES.invalid, `${displayPath(path)} is not text in UTF-8`)
    }
  }

  /**
   * The value of a JSON file.
   * @throws CommandError as `text`, and invalid with line and column if it is not JSON
   */
  async json(path: string): Promise<unknown> {
    const text = await this.text(path)
    if (text.trim() === '') throw new CommandError(EXIT_CODES.invalid, `${displayPath(path)} is empty`)
    try {
      return parseJsonInput(text)
    } catch (error) {
      if (!(error instanceof JsonInputError)) throw error
      const { line, column, message } = error
      const what = line === null ? `: ${message}` : `:${line}:${column}: this is not JSON: ${message}`
      throw new CommandError(EXIT_CODES.invalid, `${displayPath(path)}${what}`)
    }
  }

  /** Ends at once with the stop signal, so that Ctrl-C works while the process waits for input. */
  async *#chunks(path: string): AsyncGenerator<Uint8Array> {
    const { stop } = this.#terminal
    const stopped = Promise.withResolvers<never>()
    const give = () =>
      stopped.reject(new CommandError(stopExitCode(stop), `stopped while reading ${displayPath(path)}`))
    stopped.promise.catch(() => {})
    stop.addEventListener('abort', give)
    if (stop.aborted) give()
    const source = path === STDIN_PATH ? this.#stdin() : openInput(path)
    const chunks = source[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = await Promise.race([chunks.next(), stopped.promise])
        if (next.done) return
        yield next.value
      }
    } catch (error) {
      throw toReadError(path, error)
    } finally {
      stop.removeEventListener('abort', give)
      source.destroy()
    }
  }

  #stdin(): Readable {
    if (this.#usedStdin) throw new CommandError(EXIT_CODES.usage, 'standard input (-) can be read only once')
    this.#usedStdin = true
    return this.#terminal.stdin
  }
}

/** A pipe may have no writer: it is opened so that reading cannot keep the process from ending. */
function openInput(path: string): Readable {
  try {
    if (!statSync(path).isFIFO()) return createReadStream(path)
    return new Socket({
      fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
      readable: true,
      writable: false,
    })
  } catch (error) {
    throw toReadError(path, error)
  }
}

function toReadError(path: string, error: unknown): unknown {
  const { code } = error as { code?: unknown }
  if (error instanceof CommandError || typeof code !== 'string') return error
  return new CommandError(EXIT_CODES.usage, `${displayPath(path)} cannot be read: ${REASONS[code] ?? code}`)
}
