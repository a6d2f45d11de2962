// The letters of date patterns (Unicode TR35), each with its writer and its reader. patterns.ts parses patterns.
import type { DateWords } from '../shared/date-locale.ts'
import { formatOffset, parseOffset, utcOffsetMinutes, type ZonedMoment } from '../shared/date-time.ts'

/** The fields that a text has by its pattern. */
export interface ParsedDateFields {
  year?: number
  month?: number
  day?: number
  hour?: number
  /** The hour of a twelve-hour clock. */
  half?: number
  afternoon?: boolean
  minute?: number
  second?: number
  fraction?: string
  offset?: number
  zone?: string
}

type FieldWriter = (moment: ZonedMoment, words: DateWords) => string
/** The length that was read at a position, or null if the text does not match there. */
type FieldReader = (text: string, at: number, found: ParsedDateFields, words: DateWords) => number | null

export interface PatternField {
  write: FieldWriter
  read?: FieldReader
}

type NumericFieldKey = 'year' | 'month' | 'day' | 'hour' | 'half' | 'minute' | 'second'

/** A number of `least` to `most` digits. `put` converts the number to the field's value. */
function numericField(
  key: NumericFieldKey,
  least: number,
  most: number,
  of: (moment: ZonedMoment) => number,
  put = (n: number) => n,
): PatternField {
  return {
    write: (moment) => String(of(moment)).padStart(least, '0'),
    read(text, at, found) {
      let length = 0
      while (length < most && /\d/.test(text.charAt(at + length))) length++
      if (length < least) return null
      found[key] = put(Number(text.slice(at, at + length)))
      return length
    },
  }
}

/** The longest word of a list that stands at a position, in any case. */
function findLongestWord(text: string, at: number, list: readonly string[]): { place: number; length: number } | null {
  let best: { place: number; length: number } | null = null
  for (const [place, entry] of list.entries()) {
    // Many languages end short names with a point, which many people omit.
    for (const name of [entry, entry.replace(/\.$/, '')]) {
      const same = text.slice(at, at + name.length).toLowerCase() === name.toLowerCase()
      if (same && name.length > (best?.length ?? 0)) best = { place, length: name.length }
    }
  }
  return best
}

type WordList = 'months' | 'shortMonths' | 'days' | 'shortDays' | 'halves'

function wordField(
  list: WordList,
  of: (moment: ZonedMoment) => number,
  put: (found: ParsedDateFields, place: number) => void,
): PatternField {
  return {
    write: (moment, words) => words[list][of(moment)] ?? '',
    read(text, at, found, words) {
      const one = findLongestWord(text, at, words[list])
      if (one) put(found, one.place)
      return one?.length ?? null
    },
  }
}

/** An offset from UTC. The reader accepts all forms. */
function offsetField(form: (text: string) => string, zulu: boolean): PatternField {
  return {
    write(moment) {
      const minutes = utcOffsetMinutes(moment)
      return zulu && minutes === 0 ? 'Z' : form(formatOffset(minutes))
    },
    read(text, at, found) {
      const [written] = /^(?:[Zz]|[+-]\d\d(?::?\d\d)?)/.exec(text.slice(at, at + 6)) ?? []
      const minutes = written === undefined ? null : /z/i.test(written) ? 0 : parseOffset(written)
      if (written === undefined || minutes === null) return null
      found.offset = minutes
      return written.length
    },
  }
}

const formatShortOffset = (text: string) => (text.endsWith(':00') ? text.slice(0, 3) : text.replace(':', ''))
const formatBasicOffset = (text: string) => text.replace(':', '')
const formatExtendedOffset = (text: string) => text

/** Two-digit years mean 1969 to 2068, as in POSIX. */
const expandYear = (year: number) => year + (year < 69 ? 2000 : 1900)

function fractionField(width: number): PatternField {
  return {
    write(moment) {
      const { millisecond, microsecond, nanosecond } = moment
      return String(millisecond * 1e6 + microsecond * 1e3 + nanosecond)
        .padStart(9, '0')
        .slice(0, width)
    },
    read(text, at, found) {
      const part = text.slice(at, at + width)
      if (part.length < width || /\D/.test(part)) return null
      found.fraction = part
      return width
    },
  }
}

const setMonth = (found: ParsedDateFields, place: number) => {
  found.month = place + 1
}
/** The weekday is skipped, because the date determines it. */
const ignoreWord = () => {}
const twelveHourClock = (moment: ZonedMoment) => moment.hour % 12 || 12

export const PATTERN_FIELDS: Readonly<Record<string, PatternField>> = {
  y: numericField('year', 1, 4, (moment) => moment.year),
  yy: numericField('year', 2, 2, (moment) => moment.year % 100, expandYear),
  yyyy: numericField('year', 4, 4, (moment) => moment.year),
  Q: { write: (moment) => String(Math.ceil(moment.month / 3)) },
  M: numericField('month', 1, 2, (moment) => moment.month),
  MM: numericField('month', 2, 2, (moment) => moment.month),
  MMM: wordField('shortMonths', (moment) => moment.month - 1, setMonth),
  MMMM: wordField('months', (moment) => moment.month - 1, setMonth),
  w: { write: (moment) => String(moment.weekOfYear) },
  ww: { write: (moment) => String(moment.weekOfYear).padStart(2, '0') },
  D: { write: (moment) => String(moment.dayOfYear) },
  DDD: { write: (moment) => String(moment.dayOfYear).padStart(3, '0') },
  d: numericField('day', 1, 2, (moment) => moment.day),
  dd: numericField('day', 2, 2, (moment) => moment.day),
  E: wordField('shortDays', (moment) => moment.dayOfWeek - 1, ignoreWord),
  EEE: wordField('shortDays', (moment) => moment.dayOfWeek - 1, ignoreWord),
  EEEE: wordField('days', (moment) => moment.dayOfWeek - 1, ignoreWord),
  a: wordField(
    'halves',
    (moment) => (moment.hour < 12 ? 0 : 1),
    (found, place) => {
      found.afternoon = place === 1
    },
  ),
  H: numericField('hour', 1, 2, (moment) => moment.hour),
  HH: numericField('hour', 2, 2, (moment) => moment.hour),
  h: numericField('half', 1, 2, twelveHourClock),
  hh: numericField('half', 2, 2, twelveHourClock),
  m: numericField('minute', 1, 2, (moment) => moment.minute),
  mm: numericField('minute', 2, 2, (moment) => moment.minute),
  s: numericField('second', 1, 2, (moment) => moment.second),
  ss: numericField('second', 2, 2, (moment) => moment.second),
  ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map((width) => ['S'.repeat(width), fractionField(width)])),
  X: offsetField(formatShortOffset, true),
  XX: offsetField(formatBasicOffset, true),
  XXX: offsetField(formatExtendedOffset, true),
  x: offsetField(formatShortOffset, false),
  xx: offsetField(formatBasicOffset, false),
  xxx: offsetField(formatExtendedOffset, false),
  VV: {
    write: (moment) => moment.timeZoneId,
    read(text, at, found) {
      const [zone] = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*/.exec(text.slice(at, at + 50)) ?? []
      found.zone = zone
      return zone === undefined ? null : zone.length
    },
  },
}
