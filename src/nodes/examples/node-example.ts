// The type of the examples in this folder.

export interface NodeExample {
  /** The properties of the node, as written in a graph. */
  readonly data: Readonly<Record<string, unknown>>
  /** Values that come along edges, by handle. A stream is the list of its items. */
  readonly inputs?: Readonly<Record<string, unknown>>
  /**
   * Values that the node gives, by handle. A stream is the list of its items. Files are shown without their bytes, and handles may be
   * left out.
   */
  readonly outputs?: Readonly<Record<string, unknown>>
  /** What the result depends on, besides `data` and `inputs`. */
  readonly note?: string
}

/** Examples by node type. */
export type NodeExamples = Readonly<Record<string, NodeExample>>
