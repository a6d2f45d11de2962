// Values that are not in memory: most are read when they are asked for, and some never.
import { UnreadValue } from '../../engine/durability/journal.ts'
import { runToCompletion, type Steps } from '../../shared/time-slices.ts'
import type { JournalEntry } from '../journal/entry.ts'
import type { SpilledValue, SpilledValueStore } from './spilled-value-store.ts'

export type JobParams = Readonly<Record<string, unknown>>

/** Where a value lies. */
export interface ValueLocation {
  /** About how many characters or bytes it has. */
  readonly size: number
  /** Gives it a file of its own for another job of the same owner; null: it lies in a page. @throws Error where its file is missing */
  readonly file: { takenOver(): SpilledValue } | null
  readSteps(): Steps<unknown>
}

/** A value that lies in a file, or in its page. */
export class LazyValue {
  readonly #location: ValueLocation

  constructor(place: ValueLocation) {
    this.#location = place
  }

  static fromFile(values: SpilledValueStore, file: SpilledValue): LazyValue {
    return new LazyValue({
      size: file.size,
      file: { takenOver: () => values.link(file) },
      readSteps: () => values.readSteps(file),
    })
  }

  get size(): number {
    return this.#location.size
  }

  get file(): ValueLocation['file'] {
    return this.#location.file
  }

  /** A value, read where it lies elsewhere. @throws Error where that is missing, or not what was written */
  static resolve<T>(value: T): Exclude<T, LazyValue> {
    return (value instanceof LazyValue ? runToCompletion(value.#location.readSteps()) : value) as Exclude<T, LazyValue>
  }

  /** A value as a run takes it: one that lies elsewhere is given by `read` when it is taken. */
  static toUnread<T>(value: T, read: (value: LazyValue) => unknown): Exclude<T, LazyValue> | UnreadValue {
    return value instanceof LazyValue ? new UnreadValue(() => read(value)) : (value as Exclude<T, LazyValue>)
  }

  /** `now` in steps. */
  static *resolveSteps<T>(value: T): Steps<Exclude<T, LazyValue>> {
    return (value instanceof LazyValue ? yield* value.#location.readSteps() : value) as Exclude<T, LazyValue>
  }
}

/** About how many bytes of large values of one kind are read before they are asked for. */
const MAX_EAGER_BYTES = 16_777_216

/** Which of the values of one kind, in their order, are read only when they are taken: there may be more of them than memory has. */
export class EagerReadBudget {
  #read = 0

  shouldLeaveUnread(value: unknown): boolean {
    if (!(value instanceof LazyValue)) return false
    if (value.file) this.#read += value.size
    return !value.file || this.#read > MAX_EAGER_BYTES
  }
}

/** A page some of whose entries have their values, which stand last, in files: by their places in the list. */
export interface SpilledPage {
  readonly entries: readonly (readonly unknown[])[]
  readonly files: ReadonlyMap<number, SpilledValue>
}

/** What page 0 says: the parameters, or in a list the file that has them. @throws Error where that cannot be read */
export function* readParamsSteps(page: unknown, values: SpilledValueStore): Steps<JobParams> {
  return (Array.isArray(page) ? yield* values.readSteps(page[0] as SpilledValue) : page) as JobParams
}

/** The entries of any other page. All values in files are read when they are asked for. */
export function decodePageEntries(page: unknown, values: SpilledValueStore): readonly JournalEntry[] {
  if (Array.isArray(page)) return page as JournalEntry[]
  const { entries, files } = page as SpilledPage
  return entries.map((entry, at) => {
    const file = files.get(at)
    return (file ? entry.with(-1, LazyValue.fromFile(values, file)) : entry) as unknown as JournalEntry
  })
}
