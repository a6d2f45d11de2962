// Proposes nodes that convert an output's type to an input's type, from the conversions that the node types of the registry declare. The
// engine knows none of these types by name.
import type { Conversion } from '../node-api/node-facts.ts'
import type { NodeRegistry } from '../node-api/node-type.ts'
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

/** How well one type is known to fit another: 0 if either is any, highest if both are equal. */
function rateCloseness(source: TypeMetadata, target: TypeMetadata): number {
  if (source.type === 'any' || target.type === 'any') return 0
  if (source.type !== target.type) {
    if (!isExactlyAssignable(source, target)) return 1
    // A union prefers its first member.
    return target.type === 'union' && isExactlyAssignable(source, getTypeArgument(target, 0)) ? 2.01 : 2
  }
  const at = source.type === 'list' ? 0 : 1
  const [inner, wanted] = [getTypeArgument(source, at), getTypeArgument(target, at)]
  // An item of unknown type is no reason to propose a node that takes items of one type.
  return 3 + (inner.type === 'any' && wanted.type !== 'any' ? -1 : rateCloseness(inner, wanted)) / 10
}

function rateConversion(conversion: Conversion, source: TypeMetadata, target: TypeMetadata): number | null {
  const { from, to } = conversion
  if (source.type === 'any' || !isExactlyAssignable(source, from)) return null
  const given = to === 'item' ? getTypeArgument(source, 0) : to
  return isAssignable(given, target) ? rateCloseness(source, from) + rateCloseness(given, target) : null
}

/** Sorts by score, descending. Of equal proposals, the one that takes the whole value comes first. */
function compareProposals(a: ConversionProposal, b: ConversionProposal): number {
  return b.score - a.score || Number(a.item) - Number(b.item)
}

/** The limit of type pairs in one graph for which conversions are searched. */
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

  /** The node types that convert from `source` to `target`, the best first. */
  findProposals(source: TypeMetadata, target: TypeMetadata): ConversionProposal[] {
    const proposals: ConversionProposal[] = []
    for (const { node_type, conversion } of this.#listConversions()) {
      const score = rateConversion(conversion, source, target)
      if (score !== null) proposals.push({ node_type, how: conversion.how, score, item: conversion.to === 'item' })
    }
    return proposals.sort(compareProposals)
  }

  /**
   * Null if an output of type `source` may feed an input of type `target`, else the text of `describeProposals`. Each pair of types is
   * checked once, as a hostile graph may use a large pair at many edges.
   */
  findMismatchHint(source: TypeMetadata, target: TypeMetadata): string | null {
    const known = this.#hintsByPair.get(source) ?? new Map<TypeMetadata, string | null>()
    this.#hintsByPair.set(source, known)
    let hint = known.get(target)
    if (hint === undefined) {
      hint = isAssignable(source, target) ? null : this.#left-- > 0 ? this.describeProposals(source, target) : ''
      known.set(target, hint)
    }
    return hint
  }

  /** A sentence about the best proposal, and about the second if its score is equal; empty if there is no proposal. */
  describeProposals(source: TypeMetadata, target: TypeMetadata): string {
    const [best, ...others] = this.findProposals(source, target)
    if (!best) return ''
    const second = others.find((one) => one.score === best.score && one.node_type !== best.node_type)
    const first = ` ${best.node_type} in between ${best.how}`
    return second ? `${first}, ${second.node_type} ${second.how}.` : `${first}.`
  }
}
