// Error messages for invalid formulas, with advice for users of other languages.
import { NodeError } from '../../../engine/node-api/node-error.ts'
import { truncateText } from '../../../shared/text-truncation.ts'

/** Syntax of other languages, with the advice for it. */
const FOREIGN_SYNTAX: readonly [RegExp, string][] = [
  [/^=/, 'Compare two values with "==".'],
  [/^and\b/i, 'Write "and" as "&&".'],
  [/^or\b/i, 'Write "or" as "||".'],
  [/^&/, 'Write "and" as "&&".'],
  [/^\|/, 'Write "or" as "||".'],
  [/^\?/, 'Write a choice as "if(condition, yes, no)".'],
  [/^<>/, 'Write "not equal" as "!=".'],
  [/^,\s*\d/, 'Write decimal numbers with a point, such as 1.5.'],
  [/^['"`‘’“”]/, 'A formula takes numbers, not texts.'],
]

/** The error for a formula that cannot be parsed from a position on. */
export function formulaSyntaxError(text: string, at: number): NodeError {
  const rest = text.slice(at, at + 10)
  // The ellipsis marks the cut, so that redaction finds the rest of a secret that was cut.
  const what = at < text.length ? `"${truncateText(text.slice(at), 10)}" at position ${at + 1}` : 'its end'
  // The first half of "<>" was read as an operator.
  const from = rest.startsWith('>') && text[at - 1] === '<' ? `<${rest}` : rest
  const advice = FOREIGN_SYNTAX.find(([form]) => form.test(from))?.[1]
  const message = `The formula has a syntax error: ${what} was not expected.`
  return new NodeError(advice === undefined ? message : `${message} ${advice}`, 'bad_formula')
}
