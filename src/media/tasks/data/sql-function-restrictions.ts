// Replaces SQL functions that depend on the machine: on its clock, time zone, random numbers or files. So a query gives the same rows everywhere.
import type Database from 'better-sqlite3'
import { MediaFault } from '../../fault.ts'

type DatabaseHandle = InstanceType<typeof Database>

const REFUSED_FUNCTIONS = [
  'current_date',
  'current_time',
  'current_timestamp',
  'random',
  'randomblob',
  'load_extension',
]

/** The positions of a function's time arguments; a missing first one means the present time. */
const TIME_ARGUMENTS: Readonly<Record<string, readonly number[]>> = {
  date: [0],
  time: [0],
  datetime: [0],
  julianday: [0],
  unixepoch: [0],
  strftime: [1],
  timediff: [0, 1],
}

/** SQLite's words for the present time. */
const PRESENT_TIME = /^(?:now|subsec|subsecond)$/i
const MACHINE_ZONE = /^\s*(?:localtime|utc)\s*$/i

/** Replaces functions in `db`. `clock` is a second database, which executes the allowed calls of time functions. */
export function restrictFunctions(db: DatabaseHandle, clock: DatabaseHandle): void {
  for (const name of REFUSED_FUNCTIONS) db.function(name, { varargs: true }, () => refuseFunction(name))
  // An own function replaces a built-in one only for the same number of arguments.
  db.function(TOKENIZER, (_name) => refuseFunction(TOKENIZER))
  db.function(TOKENIZER, (_name, _pointer) => refuseFunction(TOKENIZER))
  for (const [name, at] of Object.entries(TIME_ARGUMENTS))
    db.function(name, TIME_FUNCTION_OPTIONS, createTimeFunction(name, at, clock))
}

const TOKENIZER = 'fts3_tokenizer'

function refuseFunction(name: string): never {
  throw new MediaFault('bad_input', `The query uses ${name}, which is not available.`)
}

const TIME_FUNCTION_OPTIONS = { varargs: true, deterministic: true, safeIntegers: true }

function createTimeFunction(
  name: string,
  at: readonly number[],
  clock: DatabaseHandle,
): (...args: unknown[]) => unknown {
  const prepared = new Map<number, Database.Statement>()
  return (...args) => {
    if (at.some((place) => args[place] === undefined || PRESENT_TIME.test(String(args[place]))))
      throw new MediaFault('bad_input', `The query asks ${name} for the present time: give it as a parameter.`)
    if (args.some((arg) => typeof arg === 'string' && MACHINE_ZONE.test(arg)))
      throw new MediaFault('bad_input', `The query asks ${name} for the machine's time zone: all times are in UTC.`)
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
