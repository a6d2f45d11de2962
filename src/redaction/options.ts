// What a redaction replaces besides known secrets.

export interface RedactionOptions {
  /**
   * Replaces besides what stands under names such as `password` or `cookie`. For logs and provenance: an output of a job that is
   * called "password" is what its owner asked for.
   */
  readonly names?: boolean
  /** False: leaves what only looks like credentials. For what others wrote, such as models: it is no secret of this service or of its users. */
  readonly credentials?: boolean
}
