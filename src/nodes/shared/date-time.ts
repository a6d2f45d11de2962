// Moments: RFC 3339 texts with an offset, by which nodes pass dates on. This file reads and writes them, and resolves zones. Date patterns
// are in date/patterns.ts.
import type { Temporal } from 'temporal-polyfill'
import { findNearest } from '../../engine/node-api/did-you-mean.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import { temporalLibrary } from './lazy-libraries.ts'
import { memoizeByText } from './memoize.ts'
import { abbreviate } from './value-limits.ts'

/** A moment with the zone that determines its day and hour. */
export type ZonedMoment = Temporal.ZonedDateTime

export const LAST_YEAR = 9999
/** In characters: more than any zone or date has. Longer texts are not searched. */
const LONGEST_DATE_TEXT = 100
const NANOSECONDS_PER_MINUTE = 60e9
const SECOND = 1_000_000_000n
/** In milliseconds, like the moments below. */
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const FIRST_MOMENT = Date.parse('0000-01-01T00:00:00Z')
const LAST_MOMENT = Date.parse('9999-12-31T23:59:59Z')

// RFC 3339, with the parts optional that ISO 8601 makes optional: seconds, offset, time. No match is ambiguous.
const DATE = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d{0,20})?)? ?([Zz]|[+-]\d\d:?\d\d)?)?$/

function unknownZone(zone: string): NodeError {
  const names = Intl.supportedValuesOf('timeZone')
  const word = zone.toLowerCase().replaceAll(' ', '_')
  const near = names.find((name) => name.toLowerCase().endsWith(`/${word}`)) ?? findNearest(word, names)
  const advice = near === null ? ' A zone is a name such as "Europe/Berlin", or an offset such as "+02:00".' : ''
  const guess = near === null ? '' : ` Did you mean "${near}"?`
  return new NodeError(`"${abbreviate(zone)}" is not a known zone.${guess}${advice}`, 'unknown_zone')
}

const findZone = memoizeByText((zone: string): string => {
  if (zone.length > LONGEST_DATE_TEXT) throw unknownZone(zone)
  // Dates use "Z". An offset is recognized by its sign, and every other name is looked up.
  if (/^(z|utc|gmt)?$/i.test(zone)) return 'UTC'
  try {
    return temporalLibrary().Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone).timeZoneId
  } catch {
    throw unknownZone(zone)
  }
})

/** The canonical spelling of a zone. Throws NodeError `unknown_zone` with the nearest name. */
export function resolveZone(zone: string): string {
  return findZone(zone.trim())
}

/** Throws NodeError `out_of_range` if a year does not have four digits. */
function guardYear(year: number): void {
  if (year >= 0 && year <= LAST_YEAR) return
  throw new NodeError(`The date would be in the year ${year}; years go from 0 to ${LAST_YEAR}.`, 'out_of_range')
}

/** Runs `make`, and replaces the error for dates outside of the calendar by a clear one. */
export function createMoment(make: () => ZonedMoment): ZonedMoment {
  let moment: ZonedMoment
  try {
    moment = make()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new NodeError(`The date would lie outside of the years 0 to ${LAST_YEAR}.`, 'out_of_range')
  }
  guardYear(moment.year)
  return moment
}

function unreadableDate(text: string): NodeError {
  const example = 'A date has a form such as "2026-03-31T09:30:00+02:00" or "2026-03-31".'
  return new NodeError(
    `"${abbreviate(text)}" is not a date. ${example} date.Parse reads other forms with \`format\`.`,
    'bad_date',
  )
}

/** The moment of a local time. A time that clocks skip moves on by the gap; if a time occurs twice, the first is used. */
export function momentFromLocal(local: Temporal.PlainDateTime, zone: string): ZonedMoment {
  return createMoment(() => local.toZonedDateTime(zone, { disambiguation: 'compatible' }))
}

function noSuchDay(text: string): NodeError {
  return new NodeError(`"${abbreviate(text)}" is not a date, because there is no such day or time.`, 'bad_date')
}

/** A local time from its parts. Throws NodeError if there is no such day. */
export function createPlainDateTime(fields: Temporal.DateTimeLikeObject, text: string): Temporal.PlainDateTime {
  try {
    return temporalLibrary().Temporal.PlainDateTime.from(fields, { overflow: 'reject' })
  } catch {
    throw noSuchDay(text)
  }
}

/** Splits the fraction digits of a second. */
export function parseFraction(digits: string) {
  const nano = digits.padEnd(9, '0')
  const three = (at: number) => Number(nano.slice(at, at + 3))
  return { millisecond: three(0), microsecond: three(3), nanosecond: three(6) }
}

/** An offset such as `+0230` in minutes, or null if it is invalid. */
export function parseOffset(text: string): number | null {
  const [, sign, hours, minutes = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(text) ?? []
  if (hours === undefined || Number(hours) > 23 || Number(minutes) > 59) return null
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}

/** The zone with this constant offset from UTC. */
export function zoneForOffset(minutes: number): string {
  return minutes === 0 ? 'UTC' : formatOffset(minutes)
}

/** `+02:00` */
export function formatOffset(minutes: number): string {
  const two = (count: number) => String(Math.trunc(count)).padStart(2, '0')
  return `${minutes < 0 ? '-' : '+'}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`
}

/** The moment at which clocks that are `minutes` ahead of UTC show a local time, in the view of a zone. */
export function momentAtOffset(local: number, nanoseconds: number, minutes: number, zone: string): ZonedMoment {
  const epoch = local - minutes * MINUTE_MS
  const { Temporal } = temporalLibrary()
  const make = () => new Temporal.ZonedDateTime(BigInt(epoch) * 1_000_000n + BigInt(nanoseconds), zone)
  // Only near the first and last year is the range check needed.
  return epoch > FIRST_MOMENT + DAY_MS && epoch < LAST_MOMENT - DAY_MS ? make() : createMoment(make)
}

/**
 * Reads a date: RFC 3339, a date without time (its midnight), or a time without offset, which is in `zone` (default UTC). The result is in
 * `zone`, or else at its own offset. A leap second becomes the second before it. Throws NodeError.
 */
export function readDate(text: string, zone = ''): ZonedMoment {
  const trimmed = text.length > LONGEST_DATE_TEXT ? '' : text.trim()
  const [, date, time = '00:00', seconds = '00', fraction = '', offset] = DATE.exec(trimmed) ?? []
  if (date === undefined) throw unreadableDate(text)
  const written = `${date}T${time}:${seconds === '60' ? '59' : seconds}`
  const local = Date.parse(`${written}Z`)
  // Date.parse reads a day that a month lacks as a day of the next month.
  if (Number.isNaN(local) || !new Date(local).toISOString().startsWith(written)) throw noSuchDay(trimmed)
  if (offset === undefined) {
    const { Temporal } = temporalLibrary()
    return momentFromLocal(Temporal.PlainDateTime.from(written).with(parseFraction(fraction)), resolveZone(zone))
  }
  const minutes = offset.toUpperCase() === 'Z' ? 0 : parseOffset(offset)
  if (minutes === null) throw unreadableDate(text)
  const view = zone.trim() === '' ? zoneForOffset(minutes) : resolveZone(zone)
  return momentAtOffset(local, Number(fraction.padEnd(9, '0')), minutes, view)
}

/** The offset from UTC in whole minutes. */
export function utcOffsetMinutes(moment: ZonedMoment): number {
  return Math.round(moment.offsetNanoseconds / NANOSECONDS_PER_MINUTE)
}

/** The same moment with an offset of whole minutes. RFC 3339 has no other offsets, but clocks had them until 1972. */
export function withWholeMinuteOffset(moment: ZonedMoment): ZonedMoment {
  const whole = moment.offsetNanoseconds % NANOSECONDS_PER_MINUTE === 0
  return whole ? moment : moment.withTimeZone(formatOffset(utcOffsetMinutes(moment)))
}

/** Writes a moment as RFC 3339 with its offset, `Z` for UTC, and no more digits than needed. */
export function writeDate(moment: ZonedMoment): string {
  const minutes = utcOffsetMinutes(moment)
  const local = new Date(moment.epochMilliseconds + minutes * MINUTE_MS)
  guardYear(local.getUTCFullYear())
  const nanoseconds = Number(((moment.epochNanoseconds % SECOND) + SECOND) % SECOND)
  const fraction = nanoseconds === 0 ? '' : `.${String(nanoseconds).padStart(9, '0').replace(/0+$/, '')}`
  const offset = moment.timeZoneId === 'UTC' ? 'Z' : formatOffset(minutes)
  return `${local.toISOString().slice(0, 'yyyy-MM-ddTHH:mm:ss'.length)}${fraction}${offset}`
}
