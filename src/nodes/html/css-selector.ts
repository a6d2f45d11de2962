// A small part of CSS selectors, matched while a document is read. An element is tested against facts known from its ancestors, so the work
// is at most elements times selector parts.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { abbreviate } from '../shared/value-limits.ts'

const LONGEST_SELECTOR = 200
const MOST_STEPS = 20

export interface SelectableElement {
  readonly tag: string
  readonly attributes: Readonly<Record<string, string>>
  readonly classes: readonly string[]
}

type ElementTest = (element: SelectableElement) => boolean

/** One part of a selector, such as `a.more` in `ul > a.more`. */
interface SelectorStep {
  tests: ElementTest[]
  /** The index of the part before, or −1. */
  previous: number
  /** Whether the part before must match the parent, or any ancestor. */
  child: boolean
  last: boolean
}

export type CssSelector = readonly SelectorStep[]

/** By selector step: whether the element matches it, and whether the element or an ancestor does. */
export interface SelectorMatch {
  readonly self: Uint8Array
  readonly selfOrAncestor: Uint8Array
}

type Comparison = (value: string, wanted: string) => boolean

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  '=': (value, wanted) => value === wanted,
  '~=': (value, wanted) => value.split(/\s+/).includes(wanted),
  '^=': (value, wanted) => wanted !== '' && value.startsWith(wanted),
  '$=': (value, wanted) => wanted !== '' && value.endsWith(wanted),
  '*=': (value, wanted) => wanted !== '' && value.includes(wanted),
}

const SPACE = /\s*/y
const TAG = /\*|[\w-]+/y
const NAMED = /([#.])([\w\u00a0-\uffff-]+)/y
const ATTRIBUTE = /\[\s*([\w:-]+)\s*(?:([~^$*]?=)\s*(?:"([^"]*)"|'([^']*)'|([^\]\s"']+))\s*)?\]/y

class SelectorParser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  read(): CssSelector {
    const steps: SelectorStep[] = []
    do this.#readChain(steps)
    while (this.#take(/,/y))
    if (this.#at < this.#text.length) throw this.#syntaxError()
    return steps
  }

  #readChain(steps: SelectorStep[]): void {
    let previous = -1
    let child = false
    for (;;) {
      this.#take(SPACE)
      steps.push({ tests: this.#readTests(), previous, child, last: false })
      previous = steps.length - 1
      const apart = this.#take(SPACE)![0] !== ''
      child = this.#take(/>/y) !== null
      if (child) continue
      if (!apart || this.#at === this.#text.length || this.#text[this.#at] === ',') break
    }
    steps.at(-1)!.last = true
  }

  #readTests(): ElementTest[] {
    const from = this.#at
    const tests: ElementTest[] = []
    const tag = this.#take(TAG)?.[0].toLowerCase()
    if (tag && tag !== '*') tests.push((element) => element.tag === tag)
    for (;;) {
      const test = this.#readClassOrId() ?? this.#readAttribute()
      if (!test) break
      tests.push(test)
    }
    if (this.#at === from) throw this.#syntaxError()
    return tests
  }

  #readClassOrId(): ElementTest | null {
    const [, kind, name = ''] = this.#take(NAMED) ?? []
    if (!kind) return null
    return kind === '#' ? ({ attributes }) => attributes.id === name : ({ classes }) => classes.includes(name)
  }

  #readAttribute(): ElementTest | null {
    const found = this.#take(ATTRIBUTE)
    if (!found) return null
    const name = found[1]!.toLowerCase()
    const wanted = found[3] ?? found[4] ?? found[5] ?? ''
    const compare = found[2] ? COMPARISONS[found[2]]! : () => true
    return ({ attributes }) => Object.hasOwn(attributes, name) && compare(attributes[name]!, wanted)
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found) this.#at += found[0].length
    return found
  }

  #syntaxError(): NodeError {
    const message = `The selector "${abbreviate(this.#text)}" has a syntax error at character ${this.#at + 1}.`
    const known = 'It supports tags, *, #id, .class, [name], [name=value] (also ~= ^= $= *=), spaces, > and commas.'
    return new NodeError(`${message} ${known}`, 'bad_selector')
  }
}

/** Parses a selector. An empty selector selects nothing. Throws NodeError `bad_selector`. */
export function parseCssSelector(text: string): CssSelector {
  if (text.length > LONGEST_SELECTOR) {
    throw new NodeError(`The selector is longer than ${LONGEST_SELECTOR} characters.`, 'bad_selector')
  }
  const selector = text.trim() === '' ? [] : new SelectorParser(text.trim()).read()
  if (selector.length <= MOST_STEPS) return selector
  throw new NodeError(`The selector has more than ${MOST_STEPS} parts.`, 'bad_selector')
}

/** The match of an element, given the match of its parent. */
export function matchSelector(
  selector: CssSelector,
  element: SelectableElement,
  parent: SelectorMatch | undefined,
): SelectorMatch {
  const self = new Uint8Array(selector.length)
  const within = parent ? parent.selfOrAncestor.slice() : new Uint8Array(selector.length)
  selector.forEach(({ tests, previous, child }, index) => {
    const around = previous < 0 || (child ? parent?.self[previous] : parent?.selfOrAncestor[previous]) === 1
    if (!around || !tests.every((test) => test(element))) return
    self[index] = 1
    within[index] = 1
  })
  return { self, selfOrAncestor: within }
}

export function isSelected(selector: CssSelector, { self }: SelectorMatch): boolean {
  return selector.some(({ last }, index) => last && self[index] === 1)
}
