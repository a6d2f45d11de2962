// Functions of SQL that would look at the machine: its clock, its zone, its chance, its files. The same query gives the same rows everywhere.
import type Database from 'better-sqlite3'
import { MediaFault } from '../fault.ts'

type Handle = InstanceType<typeof Database>

const REFUSED = ['current_date', 'current_time', 'current_timestamp', 'random', 'randomblob', 'load_extension']

/** Which arguments of a function are moments; a first one that is missing means now. */
const MOMENTS: Readonly<Record<string, readonly number[]>> = {
  date: [0],
  time: [0],
  datetime: [0],
  julianday: [0],
  unixepoch: [0],
  strftime: [1],
  timediff: [0, 1],
}

/** How SQLite is asked for the present moment. */
const NOW = /^(?:now|subsec|subsecond)$/i
const ZONE = /^\s*(?:localtime|utc)\s*$/i

/** Replaces functions in `db`. `clock`, another database, does what is left of those that reckon with time. */
export function withoutMachine(db: Handle, clock: Handle): void {
  for (const name of REFUSED) db.function(name, { varargs: true }, () => refuse(name))
  // A function of the connection's own is replaced by one of as many arguments alone.
  db.function(TOKENIZER, (_name) => refuse(TOKENIZER))
  db.function(TOKENIZER, (_name, _pointer) => refuse(TOKENIZER))
  for (const [name, at] of Object.entries(MOMENTS)) db.function(name, TIMED, timed(name, at, clock))
}

const TOKENIZER = 'fts3_tokenizer'

function refuse(name: string): never {
  throw new MediaFault('bad_input', `The query asks for ${name}, which is not offered.`)
}

const TIMED = { varargs: true, deterministic: true, safeIntegers: true }

function timed(name: string, at: readonly number[], clock: Handle): (...args: unknown[]) => unknown {
  const prepared = new Map<number, Database.Statement>()
  return (...args) => {
    if (at.some((place) => args[place] === undefined || NOW.test(String(args[place]))))
      throw new MediaFault('bad_input', `The query asks ${name} for the present time: give it as a parameter.`)
    if (args.some((arg) => typeof arg === 'string' && ZONE.test(arg)))
      throw new MediaFault('bad_input', `The query asks ${name} for the zone of the machine: times are those of UTC.`)
    let statement = prepared.get(args.length)
    if (!statement) {
      statement = clock
        .prepare(`SELECT ${name}(${args.map(() => '?').join(', ')})`)
        .pluck()
        .safeIntegers()
      prepared.set(args.length, statement)
    }
    return statement.get(...args)
  }
}
