// The words and styles of dates in a language: months, weekdays, halves of a day, and date styles. The calendar is always Gregorian, so
// that a date means the same everywhere.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { ZonedMoment } from './date-time.ts'
import { memoizeByText } from './memoize.ts'
import { abbreviate } from './value-limits.ts'

/** In characters. No language tag is longer. */
const LONGEST_LOCALE = 60

export interface DateWords {
  months: string[]
  shortMonths: string[]
  /** Monday first. */
  days: string[]
  shortDays: string[]
  /** AM and PM. */
  halves: string[]
}

function findLocale(locale: string): string {
  if (locale.length <= LONGEST_LOCALE) {
    try {
      const [found] = Intl.DateTimeFormat.supportedLocalesOf(locale.trim().replaceAll('_', '-'))
      if (found !== undefined) return found
    } catch {
      // An invalid tag is treated like an unknown one.
    }
  }
  const example = 'A locale is a tag such as "en", "de-CH" or "ja".'
  throw new NodeError(`"${abbreviate(locale)}" is not a known locale. ${example}`, 'unknown_locale')
}

/** The canonical spelling of a language tag. Throws NodeError `unknown_locale`. */
export const resolveLocale = memoizeByText(findLocale)

const IN_UTC = { timeZone: 'UTC', calendar: 'gregory', numberingSystem: 'latn' } as const

function readDateWords(locale: string): DateWords {
  // The formats include a day, because many languages inflect the month's name then, as in written dates.
  function named(kind: 'month' | 'weekday' | 'dayPeriod', options: Intl.DateTimeFormatOptions, dates: number[]) {
    const format = new Intl.DateTimeFormat(locale, { ...IN_UTC, ...options })
    return dates.map((date) => format.formatToParts(date).find(({ type }) => type === kind)?.value ?? '')
  }
  const months = Array.from({ length: 12 }, (_, month) => Date.UTC(2024, month, 15))
  // The first of January 2024 was a Monday.
  const days = Array.from({ length: 7 }, (_, day) => Date.UTC(2024, 0, 1 + day))
  return {
    months: named('month', { month: 'long', day: 'numeric' }, months),
    shortMonths: named('month', { month: 'short', day: 'numeric' }, months),
    days: named('weekday', { weekday: 'long' }, days),
    shortDays: named('weekday', { weekday: 'short' }, days),
    halves: named('dayPeriod', { hour: 'numeric', hour12: true }, [Date.UTC(2024, 0, 1, 9), Date.UTC(2024, 0, 1, 15)]),
  }
}

/** The words of a language, for a tag from `resolveLocale`. */
export const dateWordsOf = memoizeByText(readDateWords)

type StyleSize = 'short' | 'medium' | 'long' | 'full'
const STYLE = /^(short|medium|long|full)(_date|_time)?$/

/** Whether a format is the name of a style that every language has. */
export function isDateStyle(format: string): boolean {
  return STYLE.test(format)
}

const styleFormatter = memoizeByText((key: string) => {
  const [locale, timeZone, style = ''] = key.split(' ')
  const [, size, part] = STYLE.exec(style) ?? []
  return new Intl.DateTimeFormat(locale, {
    calendar: 'gregory',
    timeZone,
    ...(part === '_time' ? {} : { dateStyle: size as StyleSize }),
    ...(part === '_date' ? {} : { timeStyle: size as StyleSize }),
  })
})

/** A moment in a style of a language, such as `long` or `short_date`. */
export function writeDateInStyle(moment: ZonedMoment, style: string, locale: string): string {
  return styleFormatter(`${locale} ${moment.timeZoneId} ${style}`).format(moment.epochMilliseconds)
}
