// What is said of formulas that can't be read, also to those who write another language.
import { NodeError } from '../../../engine/node-api/node-type.ts'
import { truncateText } from '../../../shared/text-truncation.ts'

/** What people of other languages write, and what is said for it here. */
const FOREIGN_SYNTAX: readonly [RegExp, string][] = [
  [/^=/, 'Two values are compared by "==".'],
  [/^and\b/i, '"And" is written as "&&".'],
  [/^or\b/i, '"Or" is written as "||".'],
  [/^&/, '"And" is written as "&&".'],
  [/^\|/, '"Or" is written as "||".'],
  [/^\?/, 'A choice is written as "if(condition, yes, no)".'],
  [/^<>/, 'What is not equal is compared by "!=".'],
  [/^,\s*\d/, 'A decimal number is written with a point, such as 1.5.'],
  [/^['"`‘’“”]/, 'A formula takes numbers, not texts.'],
]

/** What is said where a formula can't be read on. */
export function formulaSyntaxError(text: string, at: number): NodeError {
  const rest = text.slice(at, at + 10)
  // The sign of the cut lets what is left of a secret be found.
  const what = at < text.length ? `"${truncateText(text.slice(at), 10)}" at position ${at + 1}` : 'its end'
  // Of "<>", the first half was an operator.
  const from = rest.startsWith('>') && text[at - 1] === '<' ? `<${rest}` : rest
  const advice = FOREIGN_SYNTAX.find(([form]) => form.test(from))?.[1]
  const said = `The formula can't be read: it didn't expect ${what}.`
  return new NodeError(advice === undefined ? said : `${said} ${advice}`, 'bad_formula')
}
