// What a node type tells of a node before any run: its needs, its problems, the conversions that it offers, and how its expressions are read.
import type { InputValues } from './firing-forms.ts'
import type { NodeServices } from './node-services.ts'
import type { TypeMetadata } from './values/type-metadata.ts'

/** A name in a property, such as a placeholder, that matches no input. */
export interface UnknownName {
  property: string
  name: string
}

/** The reason why no firing of a node can succeed. */
export interface NodeProblem {
  property: string
  code: 'missing_property' | 'type_mismatch' | 'out_of_range' | 'unknown_node' | 'invalid_expression'
  /** A complete sentence. */
  message: string
}

/** A conversion that a node type offers, from one type to another. */
export interface Conversion {
  from: TypeMetadata
  /** `item`: the item type of a list. */
  to: TypeMetadata | 'item'
  /** The action of the node, to be read after "The node in between …". */
  how: string
}

/** A resource that a node's firings will need besides their inputs, as far as the node's own values show. */
export type NodeNeed =
  /** A model call. Values that arrive along an edge are null, as they are unknown before the run. */
  | {
      readonly kind: 'model'
      /** `provider/name`. */
      readonly model: string | null
      readonly task: string
      /** All text that is sent to the model, in parts with a newline between them. They are not joined, because a prompt may be long. */
      readonly prompt: readonly string[] | null
      /** The limit that the node sets; null: none. */
      readonly max_output_tokens: number | null
      /** Request fields that a model may not support, by their OpenAI names. Absent: none known. */
      readonly fields?: readonly string[]
    }
  /** A secret of the run's user. */
  | { readonly kind: 'credential'; readonly name: string }
  /** An asset, as `asset://<id>` or `/api/storage/<key>`. */
  | { readonly kind: 'asset'; readonly reference: string }
  /** An approval by a person during the run. */
  | { readonly kind: 'approval'; readonly name: string }

/** The facts about a node that `needs` and `problem` receive. */
export interface NodeFacts {
  readonly node_id: string
  /** The node's own values, with defaults filled in. */
  readonly data: Readonly<InputValues>
  /** Whether an edge feeds this property, so that its value is unknown before the run. */
  isConnected(property: string): boolean
}

/** The threads that read a slow expression, and the user whose turns they use. */
export interface ExpressionReaderContext extends Pick<NodeServices, 'compute' | 'sandbox' | 'owner'> {
  /** Aborts when the time limit of the graph is reached: the result is not used then. */
  readonly signal: AbortSignal
}

/**
 * Reads an expression outside of the main thread. Resolves with a sentence about its fault, or with null if it is valid. If the reader
 * cannot tell, it resolves with null or rejects, and the firing decides.
 */
export type BackgroundExpressionReader = (context: ExpressionReaderContext) => Promise<string | null>

/** An expression that may take long to read, depending on its value. */
export interface CostlyExpression<Own = never> {
  /** The approximate time on the main thread for a value, in nanoseconds. */
  cost(own: Own): number
  /** The reader for a value that takes too long on the main thread. */
  reader(own: Own, data: Readonly<InputValues>): BackgroundExpressionReader
}
