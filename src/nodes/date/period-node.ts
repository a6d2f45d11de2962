// date.Period: the day, week, month or other period that contains a moment.
import type { Temporal } from 'temporal-polyfill'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { LAST_YEAR, readDate, writeDate, type ZonedMoment } from '../shared/date-time.ts'
import { optionalProperty, valueOutput } from '../shared/node-type-builders.ts'
import { dateProperty, zoneProperty } from './conversion-nodes.ts'

type Period = 'minute' | 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year'

/** The first day of a week, as ISO 8601 numbers days. */
const FIRST_DAYS = { monday: 1, sunday: 7, saturday: 6 }

/** The first day of a period and that of the next period. */
function findPeriodDays(day: Temporal.PlainDate, unit: Exclude<Period, 'minute' | 'hour'>, firstDay: number) {
  const { month, dayOfWeek } = day
  const firsts: Record<typeof unit, [Temporal.PlainDate, Temporal.DurationLike]> = {
    day: [day, { days: 1 }],
    week: [day.subtract({ days: (dayOfWeek - firstDay + 7) % 7 }), { days: 7 }],
    month: [day.with({ day: 1 }), { months: 1 }],
    quarter: [day.with({ month: month - ((month - 1) % 3), day: 1 }), { months: 3 }],
    year: [day.with({ month: 1, day: 1 }), { years: 1 }],
  }
  const [first, length] = firsts[unit]
  return [first, first.add(length)] as const
}

/** The begin of a period and of the next one. A day begins with its first hour, which is not always 0. */
function findPeriod(moment: ZonedMoment, unit: Period, firstDay: number): readonly [ZonedMoment, ZonedMoment] {
  if (unit === 'minute' || unit === 'hour') {
    const start = moment.round({ smallestUnit: unit, roundingMode: 'floor' })
    return [start, start.add(unit === 'hour' ? { hours: 1 } : { minutes: 1 })]
  }
  const [first, next] = findPeriodDays(moment.toPlainDate(), unit, firstDay)
  return [first.toZonedDateTime(moment.timeZoneId), next.toZonedDateTime(moment.timeZoneId)]
}

export const datePeriodNodes: NodeType[] = [
  {
    node_type: 'date.Period',
    title: 'Period of date',
    description:
      'Gives the start and end of the day, week, month or other period that contains a date, and the start of the next period. The end is the last millisecond of the period.',
    properties: [
      dateProperty(),
      optionalProperty(
        'unit',
        createEnumType('minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'),
        'The kind of period.',
        {
          default: 'day',
        },
      ),
      optionalProperty('week_start', createEnumType(...Object.keys(FIRST_DAYS)), 'The first day of a week.', {
        default: 'monday',
      }),
      zoneProperty(),
    ],
    outputs: [valueOutput('start', 'str'), valueOutput('end', 'str'), valueOutput('next', 'str')],
    run(inputs) {
      const { date, unit, week_start, zone } = inputs as Record<string, string>
      const firstDay = FIRST_DAYS[week_start as keyof typeof FIRST_DAYS]
      const [start, next] = findPeriod(readDate(date!, zone), unit as Period, firstDay)
      const known = next.year <= LAST_YEAR ? { next: writeDate(next) } : {}
      return { start: writeDate(start), end: writeDate(next.subtract({ milliseconds: 1 })), ...known }
    },
  },
]
