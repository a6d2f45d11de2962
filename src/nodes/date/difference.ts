// The time between two moments: the inverse of date.Add, so that both count the same.
import type { Temporal } from 'temporal-polyfill'
import type { ZonedMoment } from '../shared/date-time.ts'

export type DateUnit = 'year' | 'month' | 'week' | 'day' | 'hour' | 'minute' | 'second'

/** Lengths of calendar units in months or days. Other units are elapsed time. */
const CALENDAR_UNITS: Readonly<Partial<Record<DateUnit, { months: number; days: number }>>> = {
  year: { months: 12, days: 0 },
  month: { months: 1, days: 0 },
  week: { months: 0, days: 7 },
  day: { months: 0, days: 1 },
}

/** A later day at the same local time, as date.Add finds it. It may lie beyond the years that dates can be written in. */
function shiftByCalendar(from: ZonedMoment, months: number, days: number): ZonedMoment {
  return from.toPlainDateTime().add({ months }).add({ days }).toZonedDateTime(from.timeZoneId)
}

/** The most steps in the direction of `sign` that do not go past `to`. The guess may be some steps off. */
function countSteps(at: (steps: number) => ZonedMoment, guess: number, to: ZonedMoment, sign: number): number {
  const isPast = (steps: number) => sign * Number(at(steps).epochNanoseconds - to.epochNanoseconds) > 0
  let steps = guess
  while (isPast(steps)) steps -= sign
  while (!isPast(steps + sign)) steps += sign
  return steps
}

function splitIntoParts(unit: DateUnit, months: number, days: number, rest: Temporal.Duration) {
  const years = unit === 'year' ? Math.trunc(months / 12) : 0
  const weeks = unit === 'week' ? Math.trunc(days / 7) : 0
  const fraction = rest.milliseconds * 1e6 + rest.microseconds * 1e3 + rest.nanoseconds
  // Backwards, a division can give −0. Adding 0 makes it 0.
  return {
    years: years + 0,
    months: months - 12 * years,
    weeks: weeks + 0,
    days: days - 7 * weeks,
    hours: rest.hours,
    minutes: rest.minutes,
    seconds: rest.seconds + fraction / 1e9,
  }
}

function measureByCalendar(
  from: ZonedMoment,
  to: ZonedMoment,
  unit: DateUnit,
  reach: { months: number; days: number },
) {
  const sign = to.epochNanoseconds < from.epochNanoseconds ? -1 : 1
  const between = (to.year - from.year) * 12 + to.month - from.month
  const months = reach.months === 0 ? 0 : countSteps((count) => shiftByCalendar(from, count, 0), between, to, sign)
  const start = shiftByCalendar(from, months, 0).toPlainDate()
  const near = start.until(to.toPlainDate(), { largestUnit: 'day' }).days
  const days = countSteps((count) => shiftByCalendar(from, months, count), near, to, sign)
  const rest = shiftByCalendar(from, months, days).until(to, { largestUnit: 'hour' })
  const whole = Math.trunc(reach.months > 0 ? months / reach.months : days / reach.days) + 0
  const at = (count: number) => shiftByCalendar(from, count * reach.months, count * reach.days).epochNanoseconds
  const begin = at(whole)
  const fraction = Number(to.epochNanoseconds - begin) / Math.abs(Number(at(whole + sign) - begin))
  return { output: whole + fraction, whole, parts: splitIntoParts(unit, months, days, rest) }
}

/** The time from one moment to another: with fractions, in whole units, and in parts from the unit down. */
export function measureDifference(from: ZonedMoment, moment: ZonedMoment, unit: DateUnit) {
  const to = moment.withTimeZone(from.timeZoneId)
  const reach = CALENDAR_UNITS[unit]
  if (reach) return measureByCalendar(from, to, unit, reach)
  const until = from.until(to, { largestUnit: unit })
  const whole = { hour: until.hours, minute: until.minutes, second: until.seconds }[unit as 'hour']
  return { output: until.total({ unit }), whole, parts: splitIntoParts(unit, 0, 0, until) }
}
