// What the letters of a date's pattern mean (those of Unicode's TR35), each to be written and to be read. Which of
// them a pattern has is for date-patterns.ts.
import type { Words } from './date-words.ts'
import { type Moment, minutesAhead, offsetMinutes, offsetText } from './moments.ts'

/** What a text says, as far as its pattern goes. */
export interface Found {
  year?: number
  month?: number
  day?: number
  hour?: number
  /** Of a clock with twelve of them. */
  half?: number
  afternoon?: boolean
  minute?: number
  second?: number
  fraction?: string
  offset?: number
  zone?: string
}

type Write = (moment: Moment, words: Words) => string
/** The length of what it took at a place, or null where nothing there fits. */
type Read = (text: string, at: number, found: Found, words: Words) => number | null

export interface Field {
  write: Write
  read?: Read
}

type Digits = 'year' | 'month' | 'day' | 'hour' | 'half' | 'minute' | 'second'

/** A number of `least` to `most` digits; `put` says what it means where that isn't plain. */
function digits(
  key: Digits,
  least: number,
  most: number,
  of: (moment: Moment) => number,
  put = (n: number) => n,
): Field {
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

/** The place of the longest word that a text has here, in any case. */
function word(text: string, at: number, list: readonly string[]): { place: number; length: number } | null {
  let best: { place: number; length: number } | null = null
  for (const [place, entry] of list.entries()) {
    // Many languages end short names with a point, which many people leave out.
    for (const name of [entry, entry.replace(/\.$/, '')]) {
      const same = text.slice(at, at + name.length).toLowerCase() === name.toLowerCase()
      if (same && name.length > (best?.length ?? 0)) best = { place, length: name.length }
    }
  }
  return best
}

type Lists = 'months' | 'shortMonths' | 'days' | 'shortDays' | 'halves'

function name(list: Lists, of: (moment: Moment) => number, put: (found: Found, place: number) => void): Field {
  return {
    write: (moment, words) => words[list][of(moment)] ?? '',
    read(text, at, found, words) {
      const one = word(text, at, words[list])
      if (one) put(found, one.place)
      return one?.length ?? null
    },
  }
}

/** An offset; read are all its forms. */
function offset(form: (text: string) => string, zulu: boolean): Field {
  return {
    write(moment) {
      const minutes = minutesAhead(moment)
      return zulu && minutes === 0 ? 'Z' : form(offsetText(minutes))
    },
    read(text, at, found) {
      const [written] = /^(?:[Zz]|[+-]\d\d(?::?\d\d)?)/.exec(text.slice(at, at + 6)) ?? []
      const minutes = written === undefined ? null : /z/i.test(written) ? 0 : offsetMinutes(written)
      if (written === undefined || minutes === null) return null
      found.offset = minutes
      return written.length
    },
  }
}

const short = (text: string) => (text.endsWith(':00') ? text.slice(0, 3) : text.replace(':', ''))
const bare = (text: string) => text.replace(':', '')
const full = (text: string) => text

/** Two digits of a year are 1969 to 2068, as POSIX has it. */
const century = (year: number) => year + (year < 69 ? 2000 : 1900)

function fraction(width: number): Field {
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

const month = (found: Found, place: number) => {
  found.month = place + 1
}
/** The day of the week is read past: the date says it better. */
const nothing = () => {}
const half = (moment: Moment) => moment.hour % 12 || 12

export const FIELDS: Readonly<Record<string, Field>> = {
  y: digits('year', 1, 4, (moment) => moment.year),
  yy: digits('year', 2, 2, (moment) => moment.year % 100, century),
  yyyy: digits('year', 4, 4, (moment) => moment.year),
  Q: { write: (moment) => String(Math.ceil(moment.month / 3)) },
  M: digits('month', 1, 2, (moment) => moment.month),
  MM: digits('month', 2, 2, (moment) => moment.month),
  MMM: name('shortMonths', (moment) => moment.month - 1, month),
  MMMM: name('months', (moment) => moment.month - 1, month),
  w: { write: (moment) => String(moment.weekOfYear) },
  ww: { write: (moment) => String(moment.weekOfYear).padStart(2, '0') },
  D: { write: (moment) => String(moment.dayOfYear) },
  DDD: { write: (moment) => String(moment.dayOfYear).padStart(3, '0') },
  d: digits('day', 1, 2, (moment) => moment.day),
  dd: digits('day', 2, 2, (moment) => moment.day),
  E: name('shortDays', (moment) => moment.dayOfWeek - 1, nothing),
  EEE: name('shortDays', (moment) => moment.dayOfWeek - 1, nothing),
  EEEE: name('days', (moment) => moment.dayOfWeek - 1, nothing),
  a: name(
    'halves',
    (moment) => (moment.hour < 12 ? 0 : 1),
    (found, place) => {
      found.afternoon = place === 1
    },
  ),
  H: digits('hour', 1, 2, (moment) => moment.hour),
  HH: digits('hour', 2, 2, (moment) => moment.hour),
  h: digits('half', 1, 2, half),
  hh: digits('half', 2, 2, half),
  m: digits('minute', 1, 2, (moment) => moment.minute),
  mm: digits('minute', 2, 2, (moment) => moment.minute),
  s: digits('second', 1, 2, (moment) => moment.second),
  ss: digits('second', 2, 2, (moment) => moment.second),
  ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map((width) => ['S'.repeat(width), fraction(width)])),
  X: offset(short, true),
  XX: offset(bare, true),
  XXX: offset(full, true),
  x: offset(short, false),
  xx: offset(bare, false),
  xxx: offset(full, false),
  VV: {
    write: (moment) => moment.timeZoneId,
    read(text, at, found) {
      const [zone] = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*/.exec(text.slice(at, at + 50)) ?? []
      found.zone = zone
      return zone === undefined ? null : zone.length
    },
  },
}
