// Options for what is redacted besides known secrets.

export interface RedactionOptions {
  /**
   * Also replaces values with names such as `password` or `cookie`. For logs and provenance only: the owner of a job
   * wants to see its output "password".
   */
  readonly names?: boolean
  /**
   * False keeps texts that only look like credentials. For texts of others, such as models: they hold no credentials of
   * this service or its users.
   */
  readonly credentials?: boolean
}
