// regex.*: regular expressions by the rules of RE2. Matching time is linear in the text, so that no pattern blocks the server. Look-around
// and back references need more and are refused.

import type { RE2JS } from 're2js'
import type { InputValues } from '../engine/node-api/firing-forms.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { BackgroundExpressionReader, CostlyExpression } from '../engine/node-api/node-facts.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import { truncateText } from '../shared/text-truncation.ts'
import { BoundedMatcher, MatchBudget } from './regex-bounded-matcher.ts'
import { costOfAllMatches, costOfCompiling, costOfPattern } from './shared/firing-costs.ts'
import { regexLibrary } from './shared/lazy-libraries.ts'
import { memoizeByText } from './shared/memoize.ts'
import { catchErrorMessage } from './shared/node-error-message.ts'
import { optionalProperty, requiredProperty, valueOutput } from './shared/node-type-builders.ts'
import { guardListLength, guardTextLength, guardTotalText, LONGEST_TEXT } from './shared/value-limits.ts'

/** In characters. Matching is linear, but not free: longer texts must be split first. */
const LONGEST_SEARCHED = 1_000_000
const LONGEST_PATTERN = 2000
const MOST_MATCHES = 100_000
/** In characters. The reason of an error quotes the pattern. */
const LONGEST_REASON = 500

/** Syntax that only other engines support: look-around, atomic groups, back references. */
const UNSUPPORTED_SYNTAX = /\(\?<?[=!]|\(\?>|\\[1-9]|\\k</

type Pattern = ReturnType<typeof RE2JS.compile>
type Matcher = ReturnType<Pattern['matcher']>

function compile(pattern: string, ignoreCase: boolean): Pattern {
  if (pattern.length > LONGEST_PATTERN) {
    throw new NodeError(`The pattern is longer than ${LONGEST_PATTERN} characters.`, 'bad_pattern')
  }
  const { RE2JS } = regexLibrary()
  try {
    return RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : 'it is not valid'
    const advice = UNSUPPORTED_SYNTAX.test(pattern) ? ' Look-around and back references are not supported.' : ''
    throw new NodeError(`The pattern is invalid: ${truncateText(why, LONGEST_REASON)}.${advice}`, 'bad_pattern')
  }
}

/** In nanoseconds. What takes longer to compile may also take megabytes, such as `.{0,999}` twelve times. */
const CHEAP_READING = 1_000_000

const isCheap = (pattern: string) => costOfReading(pattern) <= CHEAP_READING
const compileExact = memoizeByText((pattern) => compile(pattern, false), isCheap)
const compileIgnoringCase = memoizeByText((pattern) => compile(pattern, true), isCheap)

type SearchInputs = { text: string; pattern: string; ignore_case: boolean }

function compileForText({ text, pattern, ignore_case }: SearchInputs): Pattern {
  if (text.length > LONGEST_SEARCHED) {
    throw new NodeError(
      `The text has more than ${LONGEST_SEARCHED} characters, which is too many for a pattern. Split it first.`,
      'too_large',
    )
  }
  return ignore_case ? compileIgnoringCase(pattern) : compileExact(pattern)
}

/** Nanoseconds to compile any pattern, and per character of it. */
const READING = 30_000
const READING_CHARACTER = 5_000

/** The approximate time to compile a pattern, in nanoseconds. */
export function costOfReading(pattern: string): number {
  return pattern.length > LONGEST_PATTERN ? 0 : READING + pattern.length * READING_CHARACTER + costOfCompiling(pattern)
}

/** Throws NodeError if a pattern is invalid. */
export function checkRegexPattern(pattern: string, { ignore_case }: Readonly<InputValues>): void {
  compileForText({ text: '', pattern, ignore_case: ignore_case === true })
}

/** Checks a pattern in a worker. */
function backgroundRegexReader(pattern: string, { ignore_case }: Readonly<InputValues>): BackgroundExpressionReader {
  return async ({ compute, owner, signal }) => {
    const inputs = { text: '', pattern, ignore_case }
    return catchErrorMessage(compute.run({ node_type: 'regex.Match', inputs, owner, signal }), 'bad_pattern')
  }
}

const costlyPattern: CostlyExpression<string> = { cost: costOfReading, reader: backgroundRegexReader }

export { MatchBudget }

export type TextMatcher = (text: string) => boolean

/** Tests whether a pattern matches somewhere in a text. Throws NodeError, also if all texts together take too much work. */
export function createTextMatcher(pattern: string, ignore_case: boolean, work: MatchBudget): TextMatcher {
  const compiled = compileForText({ text: '', pattern, ignore_case })
  return (text) => {
    compileForText({ text, pattern, ignore_case })
    return new BoundedMatcher(compiled, text, work).find() !== null
  }
}

interface Match {
  text: string
  index: number
  groups: (string | null)[]
  named: Record<string, string | null>
}

function readMatch(pattern: Pattern, matcher: Matcher): Match {
  const groups = Array.from({ length: matcher.groupCount() }, (_, index) => matcher.group(index + 1) ?? null)
  const named = Object.entries(pattern.namedGroups()).map(([name, index]) => [name, groups[index - 1] ?? null] as const)
  return { text: matcher.group() ?? '', index: matcher.start(), groups, named: Object.fromEntries(named) }
}

function matchLength({ text, groups }: Match): number {
  return groups.reduce((length, group) => length + (group?.length ?? 0), text.length)
}

function findAllMatches(pattern: Pattern, text: string): Match[] {
  const searching = new BoundedMatcher(pattern, text)
  const found: Match[] = []
  let groups = 0
  let length = 0
  for (let matcher = searching.find(); matcher; matcher = searching.find()) {
    if (found.length >= MOST_MATCHES) throw new NodeError(`There are more than ${MOST_MATCHES} matches.`, 'too_large')
    const match = readMatch(pattern, matcher)
    groups += match.groups.length
    guardListLength(groups, 'The matches have', 'groups')
    length += matchLength(match)
    guardTotalText(length)
    found.push(match)
  }
  return found
}

/** References in a replacement that may insert the whole text (before or after the match), or the match. */
const WHOLE_TEXT = /\$[`']/g
const OF_MATCH = /\$[^`']/g

/** Throws if the replaced text could become too long. It searches for matches only if a rough bound does not settle that. */
function guardReplacement(searching: BoundedMatcher, text: string, replacement: string): void {
  const whole = replacement.match(WHOLE_TEXT)?.length ?? 0
  const ofMatch = replacement.match(OF_MATCH)?.length ?? 0
  const each = replacement.length + whole * text.length
  if (text.length + (text.length + 1) * each + ofMatch * text.length <= LONGEST_TEXT) return
  let length = text.length
  for (let matcher = searching.find(); matcher; matcher = searching.find()) {
    length += each + (ofMatch - 1) * (matcher.end() - matcher.start())
    guardTextLength(length)
  }
}

const searchProperties = () => [
  requiredProperty('text', 'str', 'The text.'),
  requiredProperty(
    'pattern',
    'str',
    'The pattern, in RE2 syntax. `(?m)` and `(?s)` at its start change how lines are matched.',
  ),
  optionalProperty('ignore_case', 'bool', 'Ignores upper and lower case.', { default: false }),
]

export const regexNodes: NodeType[] = [
  {
    node_type: 'regex.Match',
    title: 'Match pattern',
    description: 'Finds the first match of a pattern: whether there is one, its text and its groups.',
    properties: searchProperties(),
    expressions: { pattern: checkRegexPattern },
    costlyExpressions: { pattern: costlyPattern },
    cost: ({ text, pattern }) => costOfPattern(text, pattern),
    outputs: [
      valueOutput('output', 'bool'),
      valueOutput('match', 'str'),
      valueOutput('groups', 'list[any]'),
      valueOutput('named', 'dict[str,any]'),
    ],
    run(inputs: SearchInputs) {
      const pattern = compileForText(inputs)
      const matcher = new BoundedMatcher(pattern, inputs.text).find()
      if (!matcher) return { output: false }
      const match = readMatch(pattern, matcher)
      guardTotalText(matchLength(match))
      const { text, groups, named } = match
      return { output: true, match: text, groups, named }
    },
  },
  {
    node_type: 'regex.FindAll',
    title: 'Find all matches',
    description: 'Lists every match of a pattern: {text, index, groups, named}.',
    properties: searchProperties(),
    expressions: { pattern: checkRegexPattern },
    costlyExpressions: { pattern: costlyPattern },
    cost: ({ text, pattern }) => costOfAllMatches(text, pattern),
    outputs: [valueOutput('output', 'list[dict[str,any]]'), valueOutput('count', 'int')],
    run(inputs: SearchInputs) {
      const found = findAllMatches(compileForText(inputs), inputs.text)
      return { output: found, count: found.length }
    },
  },
  {
    node_type: 'regex.Replace',
    title: 'Replace matches',
    description: 'Replaces every match with a text. `$1` and `$<name>` stand for groups, `$&` for the match.',
    properties: [
      ...searchProperties(),
      optionalProperty('replacement', 'str', 'The text for each match.', { default: '' }),
    ],
    expressions: { pattern: checkRegexPattern },
    costlyExpressions: { pattern: costlyPattern },
    cost: ({ text, pattern }) => costOfAllMatches(text, pattern),
    outputs: [valueOutput('output', 'str')],
    run(inputs: SearchInputs & { replacement: string }) {
      const searching = new BoundedMatcher(compileForText(inputs), inputs.text)
      guardReplacement(searching, inputs.text, inputs.replacement)
      return { output: searching.replaceAll(inputs.replacement) }
    },
  },
  {
    node_type: 'regex.Split',
    title: 'Split at matches',
    description: 'Splits a text at every match of a pattern.',
    properties: searchProperties(),
    expressions: { pattern: checkRegexPattern },
    costlyExpressions: { pattern: costlyPattern },
    cost: ({ text, pattern }) => costOfAllMatches(text, pattern),
    outputs: [valueOutput('output', 'list[str]')],
    run(inputs: SearchInputs) {
      const parts: string[] = []
      let from = 0
      for (const { text, index } of findAllMatches(compileForText(inputs), inputs.text)) {
        if (text === '') continue
        parts.push(inputs.text.slice(from, index))
        from = index + text.length
      }
      parts.push(inputs.text.slice(from))
      return { output: parts }
    },
  },
]
