// Parses numbers in texts, in the notation of programs or of a language.
import { resolveLocale } from './date-locale.ts'
import { memoizeByText } from './memoize.ts'

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/

/** The characters that separate thousands and fractions. */
export interface NumberNotation {
  decimal: string
  /** Characters that may separate thousands. */
  groups: string
  /** Digits between two group separators; the last group always has three. */
  between: number
  /** The digits of the language from 0, unless they are ASCII. */
  digits: readonly string[]
}

/** Variants of spaces and apostrophes. */
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

/** The number notation of a language. Throws NodeError for an unknown language. */
export const numberNotationOf = memoizeByText(readNumberNotation)

/** The notation with a decimal comma, as in most of Europe. */
export const DECIMAL_COMMA: NumberNotation = {
  decimal: ',',
  groups: `.${INTERCHANGEABLE_SIGNS.join('')}`,
  between: 3,
  digits: [],
}

/** In characters. No number is longer, and longer texts must not be rewritten. */
const LONGEST_NUMBER = 1000

/** The digits of a whole number without its group separators, which must all be the same character; or null. */
function removeGrouping(whole: string, { groups, between }: NumberNotation): string | null {
  const sign = [...whole].find((character) => groups.includes(character))
  if (sign === undefined) return whole
  const [first = '', ...others] = whole.split(sign)
  const last = others.pop()
  const fits = /^[+-]?\d{1,3}$/.test(first) && others.every((part) => part.length === between) && last?.length === 3
  return fits ? [first, ...others, last].join('') : null
}

/** The number in program notation, with ASCII digits and a decimal point. Null if the text has another form. */
function toPlainNumber(text: string, form: NumberNotation): string | null {
  let ascii = text.replace(/^[\u200e\u200f\u061c]+/, '').replace(/^\u2212/, '-')
  for (const [value, digit] of form.digits.entries()) ascii = ascii.replaceAll(digit, String(value))
  const [whole = '', fraction = '', ...more] = ascii.split(form.decimal)
  const digits = removeGrouping(whole, form)
  // A remaining point would be read as the decimal point.
  if (digits === null || more.length > 0 || digits.includes('.') || fraction.includes('.')) return null
  return ascii.includes(form.decimal) ? `${digits}.${fraction}` : digits
}

/** The number in a text, or null. A number that is too large becomes infinite. */
export function parseNumber(text: string, form: NumberNotation | null = null): number | null {
  const trimmed = text.trim()
  if (form && trimmed.length > LONGEST_NUMBER) return null
  const written = form ? toPlainNumber(trimmed, form) : trimmed
  return written !== null && NUMBER.test(written) ? Number(written) : null
}
