// The outcome of damage, from the answers of a server on a damaged copy and of one on an undamaged copy.
import type { ErrorBody } from '../../helpers/http.ts'
import type { RecordAnswer, StoredRecord } from './records.ts'

/** `refused`: no server starts. `found`: some records are answered with an error. `harmless`: all answers are the same. */
export type Outcome = 'refused' | 'found' | 'harmless'

export interface Verdict {
  /** Null where an answer is wrong. */
  readonly outcome: Outcome | null
  readonly wrong: readonly string[]
}

/** `damaged`: whether the server's health reports it. */
export function outcomeOf(
  truth: ReadonlyMap<StoredRecord, RecordAnswer>,
  found: ReadonlyMap<StoredRecord, RecordAnswer>,
  damaged: boolean,
): Verdict {
  const others = [...truth].filter(([record, due]) => !isSame(due, found.get(record)!))
  const wrong = others.filter(([record, due]) => !isTold(record, found.get(record)!, due, damaged))
  if (wrong.length > 0)
    return { outcome: null, wrong: wrong.map(([record, due]) => told(record, found.get(record)!, due)) }
  return { outcome: others.length > 0 || damaged ? 'found' : 'harmless', wrong: [] }
}

function isSame(one: RecordAnswer, other: RecordAnswer): boolean {
  const { length } = one.lasting
  return (
    one.status === other.status &&
    length === other.lasting.length &&
    one.lasting.every((text, at) => text === other.lasting[at])
  )
}

/** Whether a different answer reports the damage. A list leaves out damaged elements, and health reports them. */
function isTold(
  { list }: StoredRecord,
  { status, lasting }: RecordAnswer,
  due: RecordAnswer,
  damaged: boolean,
): boolean {
  if (status === 0) return damaged
  if (status >= 500) return damaged || typeOf(lasting[0]!) === 'data_damaged'
  return list && status === 200 && damaged && lasting.every((element) => due.lasting.includes(element))
}

function typeOf(text: string): string {
  return (JSON.parse(text) as ErrorBody).error.type
}

function told({ path }: StoredRecord, { status, lasting }: RecordAnswer, due: RecordAnswer): string {
  const words = (list: readonly string[]) => list.join(' ').slice(0, 300)
  return `${path} is answered with ${status} ${words(lasting)}, where ${due.status} ${words(due.lasting)} is due`
}
