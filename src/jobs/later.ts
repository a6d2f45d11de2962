// Values that are not in memory: most are read when they are asked for, and some never.
import { Unread } from '../engine/journal.ts'
import { finish, type Steps } from '../time-slices.ts'
import type { Entry } from './entry.ts'
import type { SpilledValue, SpilledValues } from './spilled-values.ts'

export type Params = Readonly<Record<string, unknown>>

/** Where a value lies. */
export interface Place {
  /** About how many characters or bytes it has. */
  readonly size: number
  /** Gives it a file of its own for another job of the same owner; null: it lies in a page. @throws Error where its file is missing */
  readonly file: { takenOver(): SpilledValue } | null
  readSteps(): Steps<unknown>
}

/** A value that lies in a file, or in its page. */
export class Later {
  readonly #place: Place

  constructor(place: Place) {
    this.#place = place
  }

  static inFile(values: SpilledValues, file: SpilledValue): Later {
    return new Later({
      size: file.size,
      file: { takenOver: () => values.takeOver(file) },
      readSteps: () => values.readSteps(file),
    })
  }

  get size(): number {
    return this.#place.size
  }

  get file(): Place['file'] {
    return this.#place.file
  }

  /** A value, read where it lies elsewhere. @throws Error where that is missing, or not what was written */
  static now<T>(value: T): Exclude<T, Later> {
    return (value instanceof Later ? finish(value.#place.readSteps()) : value) as Exclude<T, Later>
  }

  /** A value as a run takes it: one that lies elsewhere is given by `read` when it is taken. */
  static unread<T>(value: T, read: (value: Later) => unknown): Exclude<T, Later> | Unread {
    return value instanceof Later ? new Unread(() => read(value)) : (value as Exclude<T, Later>)
  }

  /** `now` in steps. */
  static *read<T>(value: T): Steps<Exclude<T, Later>> {
    return (value instanceof Later ? yield* value.#place.readSteps() : value) as Exclude<T, Later>
  }
}

/** About how many bytes of large values of one kind are read before they are asked for. */
const MOST_READ = 16_777_216

/** Which of the values of one kind, in their order, are read only when they are taken: there may be more of them than memory has. */
export class LeftUnread {
  #read = 0

  has(value: unknown): boolean {
    if (!(value instanceof Later)) return false
    if (value.file) this.#read += value.size
    return !value.file || this.#read > MOST_READ
  }
}

/** A page some of whose entries have their values, which stand last, in files: by their places in the list. */
export interface SpilledPage {
  readonly entries: readonly (readonly unknown[])[]
  readonly files: ReadonlyMap<number, SpilledValue>
}

/** What page 0 says: the parameters, or in a list the file that has them. @throws Error where that cannot be read */
export function* paramsSteps(page: unknown, values: SpilledValues): Steps<Params> {
  return (Array.isArray(page) ? yield* values.readSteps(page[0] as SpilledValue) : page) as Params
}

/** The entries of any other page. All values in files are read when they are asked for. */
export function contentsOf(page: unknown, values: SpilledValues): readonly Entry[] {
  if (Array.isArray(page)) return page as Entry[]
  const { entries, files } = page as SpilledPage
  return entries.map((entry, at) => {
    const file = files.get(at)
    return (file ? entry.with(-1, Later.inFile(values, file)) : entry) as unknown as Entry
  })
}
