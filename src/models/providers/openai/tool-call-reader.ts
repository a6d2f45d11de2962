// Reads the tool calls of an answer, from servers that number and name the pieces in different ways, or not at all.
import { randomUUID } from 'node:crypto'
import { stringifyUpTo } from '../../../shared/incremental-json.ts'
import { isObject } from '../../../shared/record.ts'
import type { ToolCallPart } from '../../provider.ts'
import { MAX_CHOICES, MAX_TOOL_CALLS, MalformedDataError } from '../shared/provider-data-validation.ts'
import { JsonObjectScanner } from './json-object-scanner.ts'

/** In characters, of all ids and names of an answer's calls: they are kept to tell the calls apart. */
const MAX_IDENTIFIERS_LENGTH = 1_048_576
/** For arguments that are JSON values and no text: in bytes for one call, in characters for an answer. They are written in one go. */
const MAX_VALUE_BYTES = 1_048_576
const MAX_VALUES_LENGTH = 4_194_304

interface OpenToolCall {
  /** The server's own id. */
  readonly id: string | null
  name: string | null
  /** The arguments so far. */
  readonly json: JsonObjectScanner
}

interface ToolCallPiece {
  readonly number: number | null
  readonly id: string | null
  readonly name: string | null
  readonly text: string
}

/** The pieces in `tool_calls` of a delta or a message; none where that is no list. @throws MalformedDataError where there are too many */
export function listToolCallPieces(given: unknown): unknown[] {
  if (!Array.isArray(given)) return []
  guardToolCallCount(given.length)
  return given
}

/** @throws MalformedDataError where one answer has too many calls */
export function guardToolCallCount(count: number): void {
  if (count > MAX_TOOL_CALLS) throw new MalformedDataError(`more than ${MAX_TOOL_CALLS} calls of tools`)
}

/** @throws MalformedDataError where there are more choices than a request may ask for */
export function guardChoiceCount(count: number): void {
  if (count > MAX_CHOICES) throw new MalformedDataError(`more than ${MAX_CHOICES} choices`)
}

export class ToolCallReader {
  readonly #calls: OpenToolCall[] = []
  /** The index in `#calls` of the last call with each number, and with each id. */
  readonly #numbers = new Map<number, number>()
  readonly #ids = new Map<string, number>()
  #identifiersLength = 0
  /** In characters, of arguments that came as JSON values. */
  #valuesLength = 0

  get hasCalls(): boolean {
    return this.#calls.length > 0
  }

  /** Reads a piece of `tool_calls`; null where it is no object. @throws MalformedDataError where there are too many calls */
  readPiece(given: unknown): ToolCallPart | null {
    if (!isObject(given)) return null
    const piece = this.#parsePiece(given)
    const { id, name, text } = piece
    const known = this.#findCall(piece)
    const index = known ?? this.#startCall(piece)
    const call = this.#calls[index]!
    const first = known === null ? { id: id ?? `call_${randomUUID().replaceAll('-', '')}` } : {}
    const custom = known === null && isObject(given.custom) ? { custom: true as const } : {}
    const named = call.name === null && name !== null ? { name } : {}
    if (named.name) call.name = this.#countIdentifier(named.name)
    call.json.add(text)
    return { type: 'tool_call', index, ...custom, ...first, ...named, arguments: text }
  }

  #parsePiece(given: Readonly<Record<string, unknown>>): ToolCallPiece {
    const body = isObject(given.function) ? given.function : isObject(given.custom) ? given.custom : {}
    return {
      number: Number.isSafeInteger(given.index) ? (given.index as number) : null,
      id: readText(given.id),
      name: readText(body.name),
      text: this.#readArguments(body.arguments ?? body.input),
    }
  }

  /** Arguments are JSON text; some servers send the value itself. */
  #readArguments(value: unknown): string {
    if (typeof value === 'string') return value
    if (!isObject(value)) return ''
    const text = stringifyUpTo(value, MAX_VALUE_BYTES)
    this.#valuesLength += text?.length ?? 0
    if (text === null || this.#valuesLength > MAX_VALUES_LENGTH)
      throw new MalformedDataError('tool calls with too long arguments')
    return text
  }

  /** The call that a piece continues; null: the piece begins a new call. */
  #findCall({ number, id, name, text }: ToolCallPiece): number | null {
    if (number === null) {
      if (id !== null) return this.#ids.get(id) ?? null
      return name === null && this.hasCalls ? this.#calls.length - 1 : null
    }
    const known = this.#numbers.get(number) ?? null
    if (known === null || name === null) return known
    // Some servers give all calls the same number, and some of these give no ids.
    const call = this.#calls[known]!
    const isSame =
      id === null ? (call.name ?? name) === name && !(text.startsWith('{') && call.json.isComplete) : call.id === id
    return isSame ? known : null
  }

  #startCall({ number, id }: ToolCallPiece): number {
    const index = this.#calls.length
    guardToolCallCount(index + 1)
    this.#calls.push({ id: id === null ? null : this.#countIdentifier(id), name: null, json: new JsonObjectScanner() })
    if (number !== null) this.#numbers.set(number, index)
    if (id !== null) this.#ids.set(id, index)
    return index
  }

  #countIdentifier(text: string): string {
    this.#identifiersLength += text.length
    if (this.#identifiersLength > MAX_IDENTIFIERS_LENGTH)
      throw new MalformedDataError('tool calls with too long ids and names')
    return text
  }
}

function readText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
