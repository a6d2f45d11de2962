// date.*: makes, reads, writes and splits moments, which are RFC 3339 texts with an offset. Arithmetic is in arithmetic-nodes.ts.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { dateWordsOf, isDateStyle, resolveLocale, writeDateInStyle } from '../shared/date-locale.ts'
import {
  createMoment,
  createPlainDateTime,
  momentFromLocal,
  parseFraction,
  readDate,
  resolveZone,
  writeDate,
} from '../shared/date-time.ts'
import { temporalLibrary } from '../shared/lazy-libraries.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { readDateByPattern } from './pattern-parser.ts'
import { checkReadPattern, checkWritePattern, writeDateByPattern } from './patterns.ts'

export const dateProperty = (name = 'date') =>
  requiredProperty(name, 'str', 'The date, such as `2026-03-31T09:30:00+02:00`.')
export const zoneProperty = () =>
  optionalProperty(
    'zone',
    'str',
    'The zone whose clock and calendar are used, such as `Europe/Berlin`. Empty: the zone of the date.',
    {
      default: '',
    },
  )
const resultZoneProperty = () =>
  optionalProperty('zone', 'str', 'The zone, such as `Europe/Berlin` or `+02:00`.', { default: 'UTC' })
const localeProperty = () =>
  optionalProperty('locale', 'str', 'The language of words, such as `en` or `de-CH`.', { default: 'en' })

const PATTERN_DESCRIPTION =
  'A pattern such as `dd.MM.yyyy HH:mm` (letters of TR35: y M d E H h a m s S X VV; text in single quotes)'

interface ParseInputs {
  text: string
  format: string
  zone: string
  locale: string
  default: string | null
}

function parseDate({ text, format, zone, locale, default: otherwise }: ParseInputs): string {
  try {
    return writeDate(format === '' ? readDate(text, zone) : readDateByPattern(text.trim(), format, zone, locale))
  } catch (error) {
    if (otherwise === null || !(error instanceof NodeError) || error.type !== 'bad_date') throw error
    return otherwise
  }
}

const SCALE = { second: 1000, millisecond: 1 }

function dateFromUnix(value: number, unit: keyof typeof SCALE, zone: string): string {
  const epoch = Math.round(value * SCALE[unit])
  const { Temporal } = temporalLibrary()
  return writeDate(
    createMoment(() => Temporal.Instant.fromEpochMilliseconds(epoch).toZonedDateTimeISO(resolveZone(zone))),
  )
}

interface DateParts {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  second: number
  zone: string
}

function dateFromParts({ zone, second, ...fields }: DateParts): string {
  const { year, month, day, hour, minute } = fields
  const nanoseconds = Math.round(second * 1e9)
  const whole = Math.floor(nanoseconds / 1e9)
  const fraction = String(nanoseconds % 1e9).padStart(9, '0')
  const text = `${year}-${month}-${day} ${hour}:${minute}:${second}`
  return writeDate(
    momentFromLocal(
      createPlainDateTime({ ...fields, second: whole, ...parseFraction(fraction) }, text),
      resolveZone(zone),
    ),
  )
}

function formatDate(text: string, format: string, zone: string, locale: string): string {
  const moment = readDate(text, zone)
  const language = resolveLocale(locale)
  return isDateStyle(format)
    ? writeDateInStyle(moment, format, language)
    : writeDateByPattern(moment, format, dateWordsOf(language))
}

export const dateConversionNodes: NodeType[] = [
  {
    node_type: 'date.Now',
    title: 'Now',
    description: 'Gives the current date and time, by the clock of the run.',
    properties: [resultZoneProperty()],
    outputs: [valueOutput('output', 'str')],
    run: ({ zone }: { zone: string }, context) => ({ output: dateFromUnix(context.clock.now(), 'millisecond', zone) }),
  },
  {
    node_type: 'date.Parse',
    title: 'Read date',
    description:
      'Reads a date from a text. A local time that clocks skip moves on by the gap; if it occurs twice, the first is used.',
    properties: [
      requiredProperty('text', 'str', 'The text.'),
      optionalProperty('format', 'str', `${PATTERN_DESCRIPTION}; empty reads RFC 3339 and ISO 8601.`, { default: '' }),
      optionalProperty(
        'zone',
        'str',
        'The zone of the result, and of texts without a zone. Empty: the zone in the text, else UTC.',
        {
          default: '',
        },
      ),
      localeProperty(),
      optionalProperty('default', 'str?', 'The result if the text is not such a date. Without it the node fails.'),
    ],
    outputs: [valueOutput('output', 'str')],
    expressions: { format: (own: string) => own !== '' && checkReadPattern(own) },
    run: (inputs) => ({ output: parseDate(inputs as unknown as ParseInputs) }),
  },
  {
    node_type: 'date.FromUnix',
    title: 'Date from Unix time',
    description: 'Makes a date from Unix time, the time since 1970.',
    properties: [
      requiredProperty('value', 'float', 'The time since 1970-01-01T00:00:00Z.'),
      optionalProperty('unit', createEnumType(...Object.keys(SCALE)), 'The unit of the value.', { default: 'second' }),
      resultZoneProperty(),
    ],
    outputs: [valueOutput('output', 'str')],
    run: ({ value, unit, zone }: { value: number; unit: keyof typeof SCALE; zone: string }) => ({
      output: dateFromUnix(value, unit, zone),
    }),
  },
  {
    node_type: 'date.FromParts',
    title: 'Date from parts',
    description:
      'Makes a date from its year, month and day, and a time. A local time that clocks skip moves on by the gap; if it occurs twice, the first is used.',
    properties: [
      requiredProperty('year', 'int', 'The year.', { min: 0, max: 9999 }),
      optionalProperty('month', 'int', 'The month.', { default: 1, min: 1, max: 12 }),
      optionalProperty('day', 'int', 'The day, which must exist in the month.', { default: 1, min: 1, max: 31 }),
      optionalProperty('hour', 'int', 'The hour.', { default: 0, min: 0, max: 23 }),
      optionalProperty('minute', 'int', 'The minute.', { default: 0, min: 0, max: 59 }),
      optionalProperty('second', 'float', 'The second, with its fractions.', { default: 0, min: 0, max: 59.999999999 }),
      resultZoneProperty(),
    ],
    outputs: [valueOutput('output', 'str')],
    run: (inputs) => ({ output: dateFromParts(inputs as unknown as DateParts) }),
  },
  {
    node_type: 'date.Format',
    title: 'Write date',
    description:
      'Writes a date by a pattern, or in a style of the language: short, medium, long or full, with _date or _time for only the date or the time.',
    properties: [
      dateProperty(),
      optionalProperty('format', 'str', `${PATTERN_DESCRIPTION}, or a style such as \`long\` or \`short_date\`.`, {
        default: 'yyyy-MM-dd HH:mm',
      }),
      zoneProperty(),
      localeProperty(),
    ],
    outputs: [valueOutput('output', 'str')],
    expressions: { format: (own: string) => isDateStyle(own) || checkWritePattern(own) },
    run: ({ date, format, zone, locale }: { date: string; format: string; zone: string; locale: string }) => ({
      output: formatDate(date, format, zone, locale),
    }),
  },
  {
    node_type: 'date.Parts',
    title: 'Parts of date',
    description:
      'Splits a date into parts. Weekdays are 1 (Monday) to 7, and weeks are those of ISO 8601. `offset` is in minutes ahead of UTC, `unix` in seconds since 1970.',
    properties: [dateProperty(), zoneProperty()],
    outputs: [
      ...['year', 'quarter', 'month', 'week', 'week_year', 'day', 'weekday', 'day_of_year', 'days_in_month'].map(
        (name) => valueOutput(name, 'int'),
      ),
      valueOutput('leap_year', 'bool'),
      ...['hour', 'minute'].map((name) => valueOutput(name, 'int')),
      valueOutput('second', 'float'),
      valueOutput('offset', 'float'),
      valueOutput('unix', 'float'),
    ],
    run({ date, zone }: { date: string; zone: string }) {
      const moment = readDate(date, zone)
      const { year, month, day, hour, minute, dayOfYear, daysInMonth, inLeapYear } = moment
      const nanoseconds = moment.millisecond * 1e6 + moment.microsecond * 1e3 + moment.nanosecond
      return {
        ...{ year, quarter: Math.ceil(month / 3), month, week: moment.weekOfYear, week_year: moment.yearOfWeek, day },
        ...{ weekday: moment.dayOfWeek, day_of_year: dayOfYear, days_in_month: daysInMonth, leap_year: inLeapYear },
        ...{ hour, minute, second: (moment.second * 1e9 + nanoseconds) / 1e9 },
        ...{ offset: moment.offsetNanoseconds / 60e9, unix: moment.epochMilliseconds / 1000 },
      }
    },
  },
  {
    node_type: 'date.InZone',
    title: 'In zone',
    description: 'Writes the same moment with the clock of another zone.',
    properties: [
      dateProperty(),
      requiredProperty('zone', 'str', 'The zone, such as `Europe/Berlin`, `UTC` or `+02:00`.'),
    ],
    outputs: [valueOutput('output', 'str')],
    run: ({ date, zone }: { date: string; zone: string }) => ({ output: writeDate(readDate(date, resolveZone(zone))) }),
  },
]
