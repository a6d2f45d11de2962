// Fills templates, in which `{{name}}` and `{{name.path[0]}}` stand for inputs of a node.

import { suggestName } from '../../engine/node-api/did-you-mean.ts'
import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { UnknownName } from '../../engine/node-api/node-facts.ts'
import { abbreviate, ensureTextLimit, guardTextLength, LONGEST_CHECKED_TEMPLATE } from './value-limits.ts'
import { parsePathTexts, readAtPath, toText } from './value-operations.ts'

/** In placeholders. No real template has more, and each costs some time. */
const MOST_PLACEHOLDERS = 100_000

const PLACEHOLDER = /\{\{([^{}]*)\}\}/g

/** The value of `{{name}}` or `{{name.path[0]}}`. */
function resolvePlaceholder(inputs: InputValues, path: string): unknown {
  if (Object.hasOwn(inputs, path)) return inputs[path]
  const [name = '', ...rest] = parsePathTexts(path)
  const value = Object.hasOwn(inputs, name) ? readAtPath(inputs[name], rest) : undefined
  if (value === undefined && Object.hasOwn(inputs, name)) {
    const text = `The template uses "${abbreviate(path)}", but input "${abbreviate(name)}" has no value there.`
    throw new NodeError(text, 'unknown_name')
  }
  if (value === undefined) {
    throw new NodeError(
      `The template uses "${abbreviate(path)}", which is not an input.${suggestName(abbreviate(path), Object.keys(inputs))}`,
      'unknown_name',
    )
  }
  return value
}

/** The first placeholder that matches no input, or null if there is none or if the template is invalid. */
function findUnknownPlaceholder(template: unknown, inputs: ReadonlyMap<string, unknown>): string | null {
  if (typeof template !== 'string' || template.length > LONGEST_CHECKED_TEMPLATE) return null
  let count = 0
  try {
    for (const [, path = ''] of template.matchAll(PLACEHOLDER)) {
      // The firing reports too many placeholders.
      if (++count > MOST_PLACEHOLDERS) return null
      const name = path.trim()
      if (!inputs.has(name) && !inputs.has(parsePathTexts(name)[0] ?? '')) return name
    }
  } catch {
    // The firing reports an invalid path.
  }
  return null
}

/** The template's first unknown name, for validation. */
export function findUnknownName(
  { template }: Readonly<InputValues>,
  inputs: ReadonlyMap<string, unknown>,
): UnknownName | null {
  const name = findUnknownPlaceholder(template, inputs)
  return name === null ? null : { property: 'template', name }
}

function tooManyPlaceholders(): NodeError {
  const most = MOST_PLACEHOLDERS.toLocaleString('en')
  return new NodeError(`The template has more than ${most} placeholders. Fill it in parts.`, 'too_large')
}

/** Fills a template. `write` converts the text of each value. Texts are appended in order, so that an excess is noticed at once. */
export function fillTemplate(
  template: string,
  inputs: InputValues,
  write: (text: string) => string = (text) => text,
): string {
  let grown = 0
  let count = 0
  const known = new Map<string, string>()
  /** Texts by value, because several paths may lead to one value. */
  const written = new Map<unknown, string>()
  const textOf = (path: string) => {
    const value = resolvePlaceholder(inputs, path)
    const text = written.get(value) ?? write(toText(value))
    written.set(value, text)
    return text
  }
  const filled = template.replaceAll(PLACEHOLDER, (all: string, path: string, at: number) => {
    if (++count > MOST_PLACEHOLDERS) throw tooManyPlaceholders()
    const text = known.get(path) ?? textOf(path.trim())
    known.set(path, text)
    guardTextLength(at + grown + text.length)
    grown += text.length - all.length
    return text
  })
  return ensureTextLimit(filled)
}
