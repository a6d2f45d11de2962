// Which node would fit between an output and an input of another type: found among the conversions that the node types of
// the registry declare. The engine itself knows none of them by name.
import type { Conversion, NodeRegistry } from '../node-api/node-type.ts'
import {
  getTypeArgument,
  isAssignable,
  isExactlyAssignable,
  type TypeMetadata,
} from '../node-api/values/type-metadata.ts'

interface ConversionProposal {
  readonly node_type: string
  readonly how: string
  readonly score: number
  readonly item: boolean
}

/** How much is known to be right about one type in the place of another: 0 where it is any, most where it is the same. */
function rateCloseness(source: TypeMetadata, target: TypeMetadata): number {
  if (source.type === 'any' || target.type === 'any') return 0
  if (source.type !== target.type) {
    if (!isExactlyAssignable(source, target)) return 1
    // What a union takes above all is its first member.
    return target.type === 'union' && isExactlyAssignable(source, getTypeArgument(target, 0)) ? 2.01 : 2
  }
  const at = source.type === 'list' ? 0 : 1
  const [inner, wanted] = [getTypeArgument(source, at), getTypeArgument(target, at)]
  // An unknown item is no reason for a node that takes one kind of items.
  return 3 + (inner.type === 'any' && wanted.type !== 'any' ? -1 : rateCloseness(inner, wanted)) / 10
}

function rateConversion(conversion: Conversion, source: TypeMetadata, target: TypeMetadata): number | null {
  const { from, to } = conversion
  if (source.type === 'any' || !isExactlyAssignable(source, from)) return null
  const given = to === 'item' ? getTypeArgument(source, 0) : to
  return isAssignable(given, target) ? rateCloseness(source, from) + rateCloseness(given, target) : null
}

/** The better first; of equals the one that takes the value as a whole. */
function compareProposals(a: ConversionProposal, b: ConversionProposal): number {
  return b.score - a.score || Number(a.item) - Number(b.item)
}

/** For so many pairs of types in one graph a conversion is looked for. */
const MAX_TYPE_PAIRS = 200

export class ConversionHints {
  readonly #registry: NodeRegistry
  readonly #hintsByPair = new Map<TypeMetadata, Map<TypeMetadata, string | null>>()
  #left = MAX_TYPE_PAIRS
  #conversions: { node_type: string; conversion: Conversion }[] | null = null

  constructor(registry: NodeRegistry) {
    this.#registry = registry
  }

  #listConversions() {
    this.#conversions ??= this.#registry
      .all()
      .flatMap(({ node_type, converts }) => (converts ?? []).map((conversion) => ({ node_type, conversion })))
    return this.#conversions
  }

  /** The names of the node types that fit between the two types, the best first. */
  findProposals(source: TypeMetadata, target: TypeMetadata): ConversionProposal[] {
    const proposals: ConversionProposal[] = []
    for (const { node_type, conversion } of this.#listConversions()) {
      const score = rateConversion(conversion, source, target)
      if (score !== null) proposals.push({ node_type, how: conversion.how, score, item: conversion.to === 'item' })
    }
    return proposals.sort(compareProposals)
  }

  /**
   * Null where an output of the one type may feed an input of the other, else what `hint` says. A pair of types is looked at once, as
   * a hostile graph may have a large one at many edges.
   */
  findMismatchHint(source: TypeMetadata, target: TypeMetadata): string | null {
    const known = this.#hintsByPair.get(source) ?? new Map<TypeMetadata, string | null>()
    this.#hintsByPair.set(source, known)
    let judged = known.get(target)
    if (judged === undefined) {
      judged = isAssignable(source, target) ? null : this.#left-- > 0 ? this.describeProposals(source, target) : ''
      known.set(target, judged)
    }
    return judged
  }

  /** A sentence about the best of them, and the second where it is as good; empty where there is none. */
  describeProposals(source: TypeMetadata, target: TypeMetadata): string {
    const [best, ...others] = this.findProposals(source, target)
    if (!best) return ''
    const second = others.find((one) => one.score === best.score && one.node_type !== best.node_type)
    const first = ` ${best.node_type} in between ${best.how}`
    return second ? `${first}, ${second.node_type} ${second.how}.` : `${first}.`
  }
}
