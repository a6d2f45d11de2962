// What a text says by a pattern, put together as a moment.
import { NodeError } from '../engine/node-type.ts'
import { readPattern } from './date-patterns.ts'
import type { Found } from './date-symbols.ts'
import { localeOf, wordsOf } from './date-words.ts'
import { shown } from './limits.ts'
import {
  atOffset,
  fractionFields,
  inCalendar,
  localMoment,
  type Moment,
  offsetZone,
  plainDateTime,
  zoneOf,
} from './moments.ts'

function hourOf({ hour, half, afternoon }: Found, text: string): number {
  if (hour !== undefined || half === undefined) return hour ?? 0
  if (half < 1 || half > 12) throw new NodeError(`"${shown(text)}" is no date: no clock shows ${half}.`, 'bad_date')
  return (half % 12) + (afternoon === true ? 12 : 0)
}

/** The moment that a text says by a pattern; without an offset or zone in it, the one of `zone`. Throws NodeError. */
export function readWith(text: string, pattern: string, zone: string, locale: string): Moment {
  const found = readPattern(text, pattern, wordsOf(localeOf(locale)))
  const { year, month = 1, day = 1, minute = 0, second = 0, fraction = '' } = found
  if (year === undefined) throw new NodeError('The pattern has no year: no date comes of it.', 'bad_pattern')
  const fields = { year, month, day, hour: hourOf(found, text), minute, second: second === 60 ? 59 : second }
  const local = plainDateTime({ ...fields, ...fractionFields(fraction) }, text)
  const view = zone.trim() === '' ? found.zone : zone
  const { offset } = found
  if (offset === undefined) {
    const moment = localMoment(local, zoneOf(found.zone ?? zone))
    return view === undefined ? moment : inCalendar(() => moment.withTimeZone(zoneOf(view)))
  }
  const nanoseconds = local.microsecond * 1000 + local.nanosecond
  return atOffset(
    local.toZonedDateTime('UTC').epochMilliseconds,
    nanoseconds,
    offset,
    zoneOf(view ?? offsetZone(offset)),
  )
}
