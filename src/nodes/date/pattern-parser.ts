// Reads a text by a pattern as a moment.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { dateWordsOf, resolveLocale } from '../shared/date-locale.ts'
import {
  createMoment,
  createPlainDateTime,
  momentAtOffset,
  momentFromLocal,
  parseFraction,
  resolveZone,
  type ZonedMoment,
  zoneForOffset,
} from '../shared/date-time.ts'
import { abbreviate } from '../shared/value-limits.ts'
import type { ParsedDateFields } from './pattern-fields.ts'
import { readPatternFields } from './patterns.ts'

function resolveHour({ hour, half, afternoon }: ParsedDateFields, text: string): number {
  if (hour !== undefined || half === undefined) return hour ?? 0
  if (half < 1 || half > 12)
    throw new NodeError(`"${abbreviate(text)}" is not a date: a twelve-hour clock has no hour ${half}.`, 'bad_date')
  return (half % 12) + (afternoon === true ? 12 : 0)
}

/** The moment that a text states by a pattern. Without an offset or zone in the text, `zone` applies. Throws NodeError. */
export function readDateByPattern(text: string, pattern: string, zone: string, locale: string): ZonedMoment {
  const found = readPatternFields(text, pattern, dateWordsOf(resolveLocale(locale)))
  const { year, month = 1, day = 1, minute = 0, second = 0, fraction = '' } = found
  if (year === undefined) throw new NodeError('The pattern needs a year, such as yyyy, to read a date.', 'bad_pattern')
  const fields = { year, month, day, hour: resolveHour(found, text), minute, second: second === 60 ? 59 : second }
  const local = createPlainDateTime({ ...fields, ...parseFraction(fraction) }, text)
  const view = zone.trim() === '' ? found.zone : zone
  const { offset } = found
  if (offset === undefined) {
    const moment = momentFromLocal(local, resolveZone(found.zone ?? zone))
    return view === undefined ? moment : createMoment(() => moment.withTimeZone(resolveZone(view)))
  }
  const nanoseconds = local.microsecond * 1000 + local.nanosecond
  return momentAtOffset(
    local.toZonedDateTime('UTC').epochMilliseconds,
    nanoseconds,
    offset,
    resolveZone(view ?? zoneForOffset(offset)),
  )
}
