// Numbers in texts, as programs write them or as the people of a language do.
import { resolveLocale } from './date-locale.ts'
import { memoizeByText } from './memoize.ts'

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/

/** What parts the thousands, and the fraction from the rest. */
export interface NumberNotation {
  decimal: string
  /** Characters that may part the thousands. */
  groups: string
  /** How many digits stand between two of them; behind the last there are always three. */
  between: number
  /** The digits of the language from 0, where they are not those of ASCII. */
  digits: readonly string[]
}

/** Spaces and apostrophes are written in several ways. */
const INTERCHANGEABLE_SIGNS: readonly string[] = [' \u00a0\u202f', "'’"]

function readNumberNotation(locale: string): NumberNotation {
  const language = resolveLocale(locale)
  const parts = new Intl.NumberFormat(language).formatToParts(1234567.5)
  const sign = (type: string) => parts.find((part) => part.type === type)?.value ?? ''
  const group = sign('group')
  const between = parts.filter((part) => part.type === 'integer').at(1)?.value.length ?? 3
  const digits = [...new Intl.NumberFormat(language, { useGrouping: false }).format(9876543210)].reverse()
  return {
    decimal: sign('decimal'),
    groups: INTERCHANGEABLE_SIGNS.find((signs) => group !== '' && signs.includes(group)) ?? group,
    between,
    digits: digits[0] === '0' ? [] : digits,
  }
}

/** How numbers are written in a language. Throws NodeError where there is no such language. */
export const numberNotationOf = memoizeByText(readNumberNotation)

/** With a decimal comma, as most of Europe writes. */
export const DECIMAL_COMMA: NumberNotation = {
  decimal: ',',
  groups: `.${INTERCHANGEABLE_SIGNS.join('')}`,
  between: 3,
  digits: [],
}

/** In characters: no number is longer, and longer texts are not to be rewritten. */
const LONGEST_NUMBER = 1000

/** The digits of a whole number without what parts its thousands, which is one sign throughout; or null. */
function removeGrouping(whole: string, { groups, between }: NumberNotation): string | null {
  const sign = [...whole].find((character) => groups.includes(character))
  if (sign === undefined) return whole
  const [first = '', ...others] = whole.split(sign)
  const last = others.pop()
  const fits = /^[+-]?\d{1,3}$/.test(first) && others.every((part) => part.length === between) && last?.length === 3
  return fits ? [first, ...others, last].join('') : null
}

/** As programs write it: with ASCII's digits and a decimal point. Null where it is no number of that form. */
function toPlainNumber(text: string, form: NumberNotation): string | null {
  let ascii = text.replace(/^[\u200e\u200f\u061c]+/, '').replace(/^\u2212/, '-')
  for (const [value, digit] of form.digits.entries()) ascii = ascii.replaceAll(digit, String(value))
  const [whole = '', fraction = '', ...more] = ascii.split(form.decimal)
  const digits = removeGrouping(whole, form)
  // A point that is left would be read as that of the fraction.
  if (digits === null || more.length > 0 || digits.includes('.') || fraction.includes('.')) return null
  return ascii.includes(form.decimal) ? `${digits}.${fraction}` : digits
}

/** The number that a text says, or null. One that is too great for a number is infinite. */
export function parseNumber(text: string, form: NumberNotation | null = null): number | null {
  const trimmed = text.trim()
  if (form && trimmed.length > LONGEST_NUMBER) return null
  const written = form ? toPlainNumber(trimmed, form) : trimmed
  return written !== null && NUMBER.test(written) ? Number(written) : null
}
