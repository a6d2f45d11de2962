// Stored values of a job that are read when they are needed.
import { UnreadValue } from '../../engine/durability/journal.ts'
import { runToCompletion, type Steps } from '../../shared/time-slices.ts'
import type { JournalEntry } from '../journal/entry.ts'
import type { SpilledValue, SpilledValueStore } from './spilled-value-store.ts'

export type JobParams = Readonly<Record<string, unknown>>

/** The place where a value is stored. */
export interface ValueLocation {
  /** The approximate size in characters or bytes. */
  readonly size: number
  /** Links the file for another job of the same owner; null: the value is in a page. @throws Error where the file is missing */
  readonly file: { takenOver(): SpilledValue } | null
  readSteps(): Steps<unknown>
}

/** A value that is stored in a file or in a journal page. */
export class LazyValue {
  readonly #location: ValueLocation

  constructor(location: ValueLocation) {
    this.#location = location
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

  /** Reads a lazy value, and returns any other value as it is. @throws Error where the stored value is missing or corrupt */
  static resolve<T>(value: T): Exclude<T, LazyValue> {
    return (value instanceof LazyValue ? runToCompletion(value.#location.readSteps()) : value) as Exclude<T, LazyValue>
  }

  /** The value in the form for a run: a lazy value is read by `read` when the run takes it. */
  static toUnread<T>(value: T, read: (value: LazyValue) => unknown): Exclude<T, LazyValue> | UnreadValue {
    return value instanceof LazyValue ? new UnreadValue(() => read(value)) : (value as Exclude<T, LazyValue>)
  }

  /** `resolve` in steps. */
  static *resolveSteps<T>(value: T): Steps<Exclude<T, LazyValue>> {
    return (value instanceof LazyValue ? yield* value.#location.readSteps() : value) as Exclude<T, LazyValue>
  }
}

/** About this many bytes of large values of one kind are read in advance. */
const MAX_EAGER_BYTES = 16_777_216

/** Decides which values of one kind, in order, are read only when they are taken: all of them may not fit into memory. */
export class EagerReadBudget {
  #read = 0

  shouldLeaveUnread(value: unknown): boolean {
    if (!(value instanceof LazyValue)) return false
    if (value.file) this.#read += value.size
    return !value.file || this.#read > MAX_EAGER_BYTES
  }
}

/** A page with entries whose values, the last elements, are in files. `files` has them by the index of the entry. */
export interface SpilledPage {
  readonly entries: readonly (readonly unknown[])[]
  readonly files: ReadonlyMap<number, SpilledValue>
}

/** Decodes page 0: the parameters, or a list with the file that holds them. @throws Error where the file cannot be read */
export function* readParamsSteps(page: unknown, values: SpilledValueStore): Steps<JobParams> {
  return (Array.isArray(page) ? yield* values.readSteps(page[0] as SpilledValue) : page) as JobParams
}

/** Decodes the entries of any other page. Values in files are lazy. */
export function decodePageEntries(page: unknown, values: SpilledValueStore): readonly JournalEntry[] {
  if (Array.isArray(page)) return page as JournalEntry[]
  const { entries, files } = page as SpilledPage
  return entries.map((entry, at) => {
    const file = files.get(at)
    return (file ? entry.with(-1, LazyValue.fromFile(values, file)) : entry) as unknown as JournalEntry
  })
}
