// The calls of tools in an answer, from servers that number and name their pieces in their own ways, or not at all.
import { randomUUID } from 'node:crypto'
import { jsonTextWithin } from '../json-steps.ts'
import { Malformed, MOST_CALLS, MOST_CHOICES } from './checked.ts'
import type { ToolCallPart } from './provider.ts'
import { WholeObject } from './whole-object.ts'

/** Of the ids and names of an answer's calls together, in characters: they are kept, to tell one call from another. */
const MOST_KEPT = 1_048_576
/** Of arguments that are values and no text, in bytes, and of those of an answer together, in characters: they are written in one go. */
const LONGEST_VALUE = 1_048_576
const MOST_VALUES = 4_194_304

interface Call {
  /** The server's own. */
  readonly id: string | null
  name: string | null
  /** Of its arguments so far. */
  readonly object: WholeObject
}

interface Piece {
  readonly number: number | null
  readonly id: string | null
  readonly name: string | null
  readonly text: string
}

/** The pieces in `tool_calls` of a delta or a message; none where that is no list. @throws Malformed where they are more than there may be calls */
export function callPieces(given: unknown): unknown[] {
  if (!Array.isArray(given)) return []
  guardCalls(given.length)
  return given
}

/** @throws Malformed where there are more of them than there may be in one answer */
export function guardCalls(count: number): void {
  if (count > MOST_CALLS) throw new Malformed(`more than ${MOST_CALLS} calls of tools`)
}

/** @throws Malformed where there are more of them than anybody can ask for */
export function guardChoices(count: number): void {
  if (count > MOST_CHOICES) throw new Malformed(`more than ${MOST_CHOICES} choices`)
}

export class ToolCalls {
  readonly #calls: Call[] = []
  /** Where the last call of each number, and of each id, is among them. */
  readonly #numbers = new Map<number, number>()
  readonly #ids = new Map<string, number>()
  #kept = 0
  /** Characters of arguments that were values. */
  #written = 0

  get any(): boolean {
    return this.#calls.length > 0
  }

  /** A piece of `tool_calls` of a delta or a message; null where it is none. @throws Malformed where there are too many of them */
  read(given: unknown): ToolCallPart | null {
    if (!isRecord(given)) return null
    const piece = this.#pieceOf(given)
    const { id, name, text } = piece
    const known = this.#find(piece)
    const index = known ?? this.#begin(piece)
    const call = this.#calls[index]!
    const first = known === null ? { id: id ?? `call_${randomUUID().replaceAll('-', '')}` } : {}
    const custom = known === null && isRecord(given.custom) ? { custom: true as const } : {}
    const named = call.name === null && name !== null ? { name } : {}
    if (named.name) call.name = this.#keep(named.name)
    call.object.add(text)
    return { type: 'tool_call', index, ...custom, ...first, ...named, arguments: text }
  }

  #pieceOf(given: Readonly<Record<string, unknown>>): Piece {
    const body = isRecord(given.function) ? given.function : isRecord(given.custom) ? given.custom : {}
    return {
      number: Number.isSafeInteger(given.index) ? (given.index as number) : null,
      id: textOf(given.id),
      name: textOf(body.name),
      text: this.#argumentsOf(body.arguments ?? body.input),
    }
  }

  /** JSON text; some send the value itself. */
  #argumentsOf(value: unknown): string {
    if (typeof value === 'string') return value
    if (!isRecord(value)) return ''
    const text = jsonTextWithin(value, LONGEST_VALUE)
    this.#written += text?.length ?? 0
    if (text === null || this.#written > MOST_VALUES) throw new Malformed('calls of tools with endless arguments')
    return text
  }

  /** Which of the calls a piece goes on with; null: it is the first of another one. */
  #find({ number, id, name, text }: Piece): number | null {
    if (number === null) {
      if (id !== null) return this.#ids.get(id) ?? null
      return name === null && this.any ? this.#calls.length - 1 : null
    }
    const known = this.#numbers.get(number) ?? null
    if (known === null || name === null) return known
    // Some give the same number to all of them, and some of these no ids.
    const call = this.#calls[known]!
    const isSame =
      id === null ? (call.name ?? name) === name && !(text.startsWith('{') && call.object.whole) : call.id === id
    return isSame ? known : null
  }

  #begin({ number, id }: Piece): number {
    const index = this.#calls.length
    guardCalls(index + 1)
    this.#calls.push({ id: id === null ? null : this.#keep(id), name: null, object: new WholeObject() })
    if (number !== null) this.#numbers.set(number, index)
    if (id !== null) this.#ids.set(id, index)
    return index
  }

  #keep(text: string): string {
    this.#kept += text.length
    if (this.#kept > MOST_KEPT) throw new Malformed('calls of tools with endless names')
    return text
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
