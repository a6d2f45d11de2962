// The lifecycle profile, version 1: types of its schemas. The contract is version 0.5.0.
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The error body of `/api/*`, `/admin/*` and every other route without a form of its own. */
        ApiError: {
            error: components["schemas"]["ApiErrorDetail"];
        };
        /** @description The error, for users and programs. */
        ApiErrorDetail: {
            message: string;
            /** @description A stable snake_case word from the error catalogue. */
            type: string;
            /** @description The HTTP status. */
            code: number;
            /** @description Every problem found, up to a hundred, for 400 and 422. Optional. */
            problems?: components["schemas"]["Problem"][];
            /** @description True if there are more problems than the hundred that are listed. Optional. */
            more_problems?: boolean;
        };
        /**
         * @description The storage of generated files: `auto` stores them as assets, `temporary` keeps them for the retention of the temporary store.
         * @enum {string}
         */
        AssetPersistence: "auto" | "temporary";
        /** @description A stored file, by reference. Its bytes are kept and served unchanged: secrets in them are not replaced. */
        AssetReference: {
            asset_id: components["schemas"]["OpaqueId"];
            /** @description The canonical path, `/api/storage/<key>`. */
            uri: string;
            /** @description The file's name, or null. */
            name: string | null;
            /** @description The MIME type. */
            content_type: string;
            /** @description Bytes, or null if unknown. */
            size: number | null;
            /** @description The digest of the bytes, or null. */
            sha256: string | null;
            /** @description A signed URL that needs no credential, or null. */
            download_url: string | null;
            /**
             * Format: date-time
             * @description The time when `download_url`, or else the file itself, expires; or null.
             */
            expires_at: string | null;
        };
        /** @description The outcome of a cancellation. It is final only if the snapshot says `cancelled`. */
        CancelJobResponse: {
            job_id: components["schemas"]["OpaqueId"];
            status: components["schemas"]["JobStatus"];
            /** @description Whether the job is ending because of a cancellation. */
            cancel_requested: boolean;
            snapshot: components["schemas"]["JobSnapshot"];
        };
        /** @description The features of this server, and the limits that it enforces. */
        Capabilities: {
            /** @constant */
            protocol_version: "1";
            server_version: string;
            server_time: components["schemas"]["Timestamp"];
            /** @description The encodings of the socket. */
            supported_encodings: components["schemas"]["SocketEncoding"][];
            default_encoding: components["schemas"]["SocketEncoding"];
            profiles: components["schemas"]["CapabilityProfiles"];
            /** @description The revision of the node type registry. It changes when node types change. */
            registry_revision: number;
            /** @description `trusted_local`: callers from trusted places need no credential. `bearer`: a token is accepted. */
            auth_modes: ("trusted_local" | "bearer")[];
            /** @description The prefixes of references to files, such as `asset://`, `/api/storage/` and, for files that come with the service, `/api/assets/packages/`. */
            asset_uri_schemes: string[];
            execution_options: components["schemas"]["CapabilityExecutionOptions"];
            limits: components["schemas"]["CapabilityLimits"];
        };
        /** @description The execution options of a run, and their defaults. */
        CapabilityExecutionOptions: {
            persistence: components["schemas"]["Persistence"][];
            event_detail: components["schemas"]["EventDetail"][];
            asset_persistence: components["schemas"]["AssetPersistence"][];
            defaults: {
                persistence: components["schemas"]["Persistence"];
                event_detail: components["schemas"]["EventDetail"];
                asset_persistence: components["schemas"]["AssetPersistence"];
            };
        };
        /** @description The limits, each as it is enforced. */
        CapabilityLimits: {
            /** @description The maximum number of ids in a request with several. */
            max_rpc_batch: number;
            /** @description The maximum size of inline media. Media in results and events that is text, base64 or a base64 `data:` URL travels by reference above this many bytes of that text. Bytes always do. Other texts and structured values are not media: they stay inline, whatever their size. */
            max_inline_bytes: number;
            max_upload_bytes: number;
            /** @description The maximum total of the temporary files of one user in bytes, in all workspaces. Null or absent if there is no limit. */
            max_temporary_bytes_per_user?: number | null;
            max_queued_jobs: number;
            /** @description The maximum number of events that are kept of one job. */
            max_job_event_replay: number;
            /** @description The time limit for the body of a request of this profile, after its head, and for the response, after the request is read. Runs, uploads and streams are excepted. */
            request_timeout_seconds: number;
            /** @description The retention of an idempotency key. */
            idempotency_retention_seconds: number;
        };
        /** @description The parts of the lifecycle profile. `jobs` is available only if the preview of the job operations is enabled. */
        CapabilityProfiles: {
            discovery: components["schemas"]["ProfileState"];
            execution: components["schemas"]["ProfileState"];
            preflight: components["schemas"]["ProfileState"];
            model_catalog: components["schemas"]["ProfileState"];
            temporary_asset_upload: components["schemas"]["ProfileState"];
            jobs: components["schemas"]["ProfileState"];
        } & {
            [key: string]: components["schemas"]["ProfileState"];
        };
        /** @description Chosen by the client; correlates logs and submission attempts, and is echoed by the acknowledgement. */
        ClientRequestId: string;
        /** @description False: wait behind a running job of the same workflow. Absent means `false`. */
        Concurrent: boolean | null;
        /** @description The cost of a job. */
        CostActual: {
            /** @description The sum of the costs that the providers report, or else that their prices give. */
            amount: number;
            /** @description An ISO 4217 code. */
            currency: string;
            /** @description The estimate of the preflight, or null. */
            estimated_amount: number | null;
            /** @description Whether the providers reported the amount; if not, it is computed from prices. */
            reconciled: boolean;
        };
        /**
         * @description `outputs` leaves out the frames of nodes and edges, `terminal` also those of outputs. Errors always pass.
         * @enum {string}
         */
        EventDetail: "full" | "outputs" | "terminal";
        /** @description The target of a run. The server never attaches, provisions or falls back to another target. */
        ExecutionTarget: components["schemas"]["LocalTarget"] | components["schemas"]["WorkerTarget"] | components["schemas"]["RunnerTarget"];
        /** @description Read the features of this server. */
        GetCapabilitiesCommand: {
            /** @constant */
            command: "get_capabilities";
            request_id: components["schemas"]["RequestId"];
            /** @description Optional. */
            data?: components["schemas"]["NoData"] | null;
            type?: components["schemas"]["ToleratedType"];
        };
        /** @description The features of this server. */
        GetCapabilitiesReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "get_capabilities";
            result: components["schemas"]["Capabilities"];
        };
        /** @description Read the authoritative state of a job. */
        GetJobSnapshotCommand: {
            /** @constant */
            command: "get_job_snapshot";
            data: components["schemas"]["JobRequest"];
            request_id: components["schemas"]["RequestId"];
            type?: components["schemas"]["ToleratedType"];
        };
        /** @description The authoritative state of a job. */
        GetJobSnapshotReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "get_job_snapshot";
            result: components["schemas"]["JobSnapshot"];
        };
        /** @description List the types that flow between nodes. */
        GetNodeTypeInventoryCommand: {
            /** @constant */
            command: "get_node_type_inventory";
            request_id: components["schemas"]["RequestId"];
            /** @description Optional. */
            data?: components["schemas"]["GetNodeTypeInventoryData"] | null;
            type?: components["schemas"]["ToleratedType"];
        };
        /** @description The page to read. */
        GetNodeTypeInventoryData: {
            /**
             * @description The start of the page, taken from `next_cursor` of the previous page.
             * @default 0
             */
            cursor?: number | null;
            /**
             * @description The maximum number of entries in a page.
             * @default 50
             */
            limit?: number | null;
        };
        /** @description The types that flow between nodes. */
        GetNodeTypeInventoryReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "get_node_type_inventory";
            result: components["schemas"]["NodeTypeInventory"];
        };
        /** @description Read the inputs and outputs of a workflow. */
        GetWorkflowInterfaceCommand: {
            /** @constant */
            command: "get_workflow_interface";
            data: components["schemas"]["GetWorkflowInterfaceData"];
            request_id: components["schemas"]["RequestId"];
            type?: components["schemas"]["ToleratedType"];
        };
        /** @description The workflow whose interface to read. */
        GetWorkflowInterfaceData: {
            id: components["schemas"]["OpaqueId"];
            /**
             * @description The version of the interface record. Version 1 is the only one.
             * @default 1
             * @enum {integer|null}
             */
            version?: 1 | null;
        };
        /** @description The inputs and outputs of a workflow. */
        GetWorkflowInterfaceReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "get_workflow_interface";
            result: components["schemas"]["WorkflowInterface"];
        };
        /** @description Read the inputs and outputs of several workflows. */
        GetWorkflowInterfacesCommand: {
            /** @constant */
            command: "get_workflow_interfaces";
            data: components["schemas"]["WorkflowInterfacesRequest"];
            request_id: components["schemas"]["RequestId"];
            type?: components["schemas"]["ToleratedType"];
        };
        /** @description The inputs and outputs of several workflows. */
        GetWorkflowInterfacesReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "get_workflow_interfaces";
            result: components["schemas"]["WorkflowInterfacesResponse"];
        };
        /** @description Identifies one logical submission within the caller's user and workspace and the advertised retention. Requests are equivalent if they differ only in `client_request_id`, the order of keys, and properties that are absent, null, or equal to the default. That applies to the properties of the request, not to the members of `inputs`, because the key is looked up before the workflow. An input that is absent, one that is null and one with the workflow's own value make three different requests. So do bytes and their base64 text. */
        IdempotencyKey: string;
        /** @description One use of a type. */
        InventoryExample: {
            node_type: string;
            /** @description The property or output. */
            pin: string;
            /** @enum {string} */
            direction: "input" | "output";
        };
        /** @description One type and its uses. */
        InventoryType: {
            /** @description The type in short form, such as `list[str]`. Unique. */
            signature: string;
            /** @description The name of the type without its arguments. */
            type: string;
            /** @description The name of the enumeration or record, or null. */
            type_name: string | null;
            /** @description Whether null is a value of the type. */
            optional: boolean;
            type_args: components["schemas"]["TypeMetadata"][];
            /** @description The values of an enumeration, else empty. */
            values: (string | number)[];
            /** @description Whether the type has more values than are listed. */
            values_truncated: boolean;
            /** @description The number of properties that have the type. */
            input_uses: number;
            /** @description The number of outputs that have the type. */
            output_uses: number;
            /** @description The number of node types that use it. */
            node_count: number;
            /** @description A few of its uses. */
            examples: components["schemas"]["InventoryExample"][];
        };
        /**
         * @description A status of a job that has not ended.
         * @enum {string}
         */
        JobActiveStatus: "accepted" | "queued" | "running" | "suspended" | "recovering" | "cancel_requested";
        /** @description The job has ended by cancellation. */
        JobCancelledEvent: components["schemas"]["JobEventBase"] & {
            /** @constant */
            type: "job_terminal";
            /** @constant */
            status: "cancelled";
            snapshot: components["schemas"]["JobSnapshotCancelled"];
        };
        /** @description The job has ended with a result. */
        JobCompletedEvent: components["schemas"]["JobEventBase"] & {
            /** @constant */
            type: "job_terminal";
            /** @constant */
            status: "completed";
            snapshot: components["schemas"]["JobSnapshotCompleted"];
        };
        /** @description The reason of a job's failure, as a text that is safe to show. */
        JobError: {
            message: string;
            /** @description A stable snake_case word: `node_error` for a node that failed, `timed_out`, `node_interrupted` for an interrupted node that must not run twice. `unavailable` means that the server lacked a resource at that time, such as disk space. `data_damaged` means that stored data of the job, or a file that it loads, is damaged. A node type may define its own words. */
            type: string;
            /** @description The node that failed, or null. */
            node_id: string | null;
            /** @description Whether a retry of the same job may succeed. */
            retryable: boolean;
        };
        /** @description One persisted fact about a job. Clients discard sequences that they have seen, process known types in order and skip unknown types. */
        JobEvent: components["schemas"]["JobStatusEvent"] | components["schemas"]["NodeStatusEvent"] | components["schemas"]["OutputUpdateEvent"] | components["schemas"]["JobTerminalEvent"];
        /** @description The common properties of all events. */
        JobEventBase: {
            sequence: components["schemas"]["Sequence"];
            job_id: components["schemas"]["OpaqueId"];
            workflow_id: components["schemas"]["OpaqueId"];
            /** @description The workspace of the job, or null. */
            workspace_id: string | null;
            timestamp: components["schemas"]["Timestamp"];
        };
        /** @description One persisted event of a job that this socket subscribed to with `subscribe_job`. */
        JobEventFrame: {
            /** @constant */
            type: "job_event";
            job_id: components["schemas"]["OpaqueId"];
            event: components["schemas"]["JobEvent"];
        };
        /** @description The job has ended with an error. */
        JobFailedEvent: components["schemas"]["JobEventBase"] & {
            /** @constant */
            type: "job_terminal";
            /** @constant */
            status: "failed";
            snapshot: components["schemas"]["JobSnapshotFailed"];
        };
        /** @description The id of a job. */
        JobRequest: {
            job_id: components["schemas"]["OpaqueId"];
        };
        /** @description The authoritative state of a job. It takes precedence over provisional frames. */
        JobSnapshot: components["schemas"]["JobSnapshotAccepted"] | components["schemas"]["JobSnapshotQueued"] | components["schemas"]["JobSnapshotRunning"] | components["schemas"]["JobSnapshotSuspended"] | components["schemas"]["JobSnapshotRecovering"] | components["schemas"]["JobSnapshotCancelRequested"] | components["schemas"]["JobSnapshotCompleted"] | components["schemas"]["JobSnapshotFailed"] | components["schemas"]["JobSnapshotCancelled"];
        /** @description Persisted and admitted, before queue or execution. */
        JobSnapshotAccepted: components["schemas"]["JobSnapshotBase"] & {
            /** @constant */
            status: "accepted";
            queue_position: null;
            finished_at: null;
            result: null;
            error: null;
            waiting: components["schemas"]["WaitingFor"][];
        };
        /** @description The common properties of all snapshots, regardless of status. */
        JobSnapshotBase: {
            /** @constant */
            version: 1;
            job_id: components["schemas"]["OpaqueId"];
            /** @description The workflow, or the label of an inline graph. A run with neither gets an id of its own here. */
            workflow_id: components["schemas"]["OpaqueId"];
            /** @description The workspace of the job, or null. */
            workspace_id: string | null;
            /** @description The etag of the accepted graph, or null for an inline graph. */
            workflow_etag: string | null;
            created_at: components["schemas"]["Timestamp"];
            updated_at: components["schemas"]["Timestamp"];
            /**
             * Format: date-time
             * @description The time of the first start, or null.
             */
            started_at: string | null;
            last_sequence: components["schemas"]["LastSequence"];
            /** @description The preflight that admitted the job, as far as it is kept: at most 100 issues, 200 requirements and 200 nodes without a known cost, of about 64 KiB together, blocking requirements first. Issues of the codes `more_issues`, `more_requirements` and `more_unknown_cost_nodes` count the omitted entries. Null for a job without a preflight. */
            preflight: components["schemas"]["PreflightSummary"] | null;
        };
        /** @description Cancellation is accepted, execution has not ended. It may still complete. */
        JobSnapshotCancelRequested: components["schemas"]["JobSnapshotBase"] & {
            /** @constant */
            status: "cancel_requested";
            queue_position: null;
            finished_at: null;
            result: null;
            error: null;
            waiting: components["schemas"]["WaitingFor"][];
        };
        /** @description Ended by cancellation. */
        JobSnapshotCancelled: components["schemas"]["JobSnapshotBase"] & {
            /** @constant */
            status: "cancelled";
            queue_position: null;
            finished_at: components["schemas"]["Timestamp"];
            result: null;
            /** @description The reason of the cancellation, if there is more to say; else null. */
            error: components["schemas"]["JobError"] | null;
            waiting: components["schemas"]["WaitingFor"][];
        };
        /** @description Ended with a result. Its manifest was complete before this became visible. */
        JobSnapshotCompleted: components["schemas"]["JobSnapshotBase"] & {
            /** @constant */
            status: "completed";
            queue_position: null;
            finished_at: components["schemas"]["Timestamp"];
            result: components["schemas"]["ResultManifest"];
            error: null;
            waiting: components["schemas"]["WaitingFor"][];
        };
        /** @description Ended with an error. */
        JobSnapshotFailed: components["schemas"]["JobSnapshotBase"] & {
            /** @constant */
            status: "failed";
            queue_position: null;
            finished_at: components["schemas"]["Timestamp"];
            result: null;
            error: components["schemas"]["JobError"];
            waiting: components["schemas"]["WaitingFor"][];
        };
        /** @description Waiting for capacity. */
        JobSnapshotQueued: components["schemas"]["JobSnapshotBase"] & {
            /** @constant */
            status: "queued";
            /** @description The place among the owner's waiting jobs, 1 for the first of them. Jobs of other users do not count. */
            queue_position: number;
            finished_at: null;
            result: null;
            error: null;
            waiting: components["schemas"]["WaitingFor"][];
        };
        /** @description Being reconciled by the server after an interruption. */
        JobSnapshotRecovering: components["schemas"]["JobSnapshotBase"] & {
            /** @constant */
            status: "recovering";
            queue_position: null;
            finished_at: null;
            result: null;
            error: null;
            waiting: components["schemas"]["WaitingFor"][];
        };
        /** @description Executing. */
        JobSnapshotRunning: components["schemas"]["JobSnapshotBase"] & {
            /** @constant */
            status: "running";
            queue_position: null;
            finished_at: null;
            result: null;
            error: null;
            waiting: components["schemas"]["WaitingFor"][];
        };
        /** @description Paused until a user or an event resumes it: no other node of the job can run. */
        JobSnapshotSuspended: components["schemas"]["JobSnapshotBase"] & {
            /** @constant */
            status: "suspended";
            queue_position: null;
            finished_at: null;
            result: null;
            error: null;
            waiting: components["schemas"]["WaitingFor"][];
        };
        /**
         * @description `accepted` persisted and admitted; `queued` waiting for capacity; `running`; `suspended` paused until a user or an event resumes it; `recovering` being reconciled after an interruption; `cancel_requested` cancellation accepted, not yet ended; and the terminal ones, which never change: `completed`, `failed`, `cancelled`.
         * @enum {string}
         */
        JobStatus: "accepted" | "queued" | "running" | "suspended" | "recovering" | "cancel_requested" | "completed" | "failed" | "cancelled";
        /** @description The job has a new status and has not ended. */
        JobStatusEvent: components["schemas"]["JobEventBase"] & {
            /** @constant */
            type: "job_status";
            status: components["schemas"]["JobActiveStatus"];
            /** @description The place among the owner's waiting jobs at the time of queuing, else null. Later changes are not events. */
            queue_position: number | null;
            /** @description A sentence for users, or null. */
            message: string | null;
        };
        /** @description The job has ended. It is the last event; its status is that of its snapshot. */
        JobTerminalEvent: components["schemas"]["JobCompletedEvent"] | components["schemas"]["JobFailedEvent"] | components["schemas"]["JobCancelledEvent"];
        /** @description Any JSON value. */
        JsonValue: string | number | boolean | null | unknown[] | Record<string, unknown>;
        /** @description The last persisted sequence of a job; 0 while nothing has been persisted. */
        LastSequence: number;
        /** @description One published file. */
        LifecycleFile: {
            /** @description The last part of its path. */
            name: string;
            /** @description The MIME type. */
            content_type: string;
            /** @description Bytes. */
            size: number;
            sha256: components["schemas"]["Sha256"];
        };
        /** @description The publication of the lifecycle profile: every file with its digest, and one digest over all. */
        LifecycleIndex: {
            /** @constant */
            version: 1;
            /** @description The version of the contract, as in the documents' `info.version`. */
            contract_version: string;
            /** @description SHA-256 over one line per file, in the order listed: the digest, two spaces, the name and a line feed. */
            digest: components["schemas"]["Sha256"];
            /** @description Sorted by name. */
            files: components["schemas"]["LifecycleFile"][];
        };
        /** @description Any answer to a command of the lifecycle profile. Those to `submit_job`, `get_job_snapshot`, `subscribe_job` and `request_job_cancellation` come only if the preview of the job operations is enabled. */
        LifecycleReply: components["schemas"]["GetCapabilitiesReply"] | components["schemas"]["PreflightWorkflowReply"] | components["schemas"]["SubmitJobReply"] | components["schemas"]["GetJobSnapshotReply"] | components["schemas"]["SubscribeJobReply"] | components["schemas"]["RequestJobCancellationReply"] | components["schemas"]["RpcErrorReply"];
        /** @description Any command of the lifecycle profile. `submit_job`, `get_job_snapshot`, `subscribe_job` and `request_job_cancellation` are served only if the preview of the job operations is enabled. */
        LifecycleRequest: components["schemas"]["GetCapabilitiesCommand"] | components["schemas"]["PreflightWorkflowCommand"] | components["schemas"]["SubmitJobCommand"] | components["schemas"]["GetJobSnapshotCommand"] | components["schemas"]["SubscribeJobCommand"] | components["schemas"]["RequestJobCancellationCommand"];
        /** @description List workflows as pickers show them. */
        ListWorkflowSummariesCommand: {
            /** @constant */
            command: "list_workflow_summaries";
            request_id: components["schemas"]["RequestId"];
            /** @description Optional. */
            data?: components["schemas"]["ListWorkflowSummariesData"] | null;
            type?: components["schemas"]["ToleratedType"];
        };
        /** @description The page to read. */
        ListWorkflowSummariesData: {
            /**
             * @description The maximum number of entries in a page.
             * @default 50
             */
            limit?: number | null;
            cursor?: components["schemas"]["OptionalCursor"];
        };
        /** @description Workflows as pickers show them. */
        ListWorkflowSummariesReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "list_workflow_summaries";
            result: components["schemas"]["WorkflowSummaryPage"];
        };
        /** @description This server. */
        LocalTarget: {
            /** @constant */
            kind: "local";
            concurrent?: components["schemas"]["Concurrent"];
        };
        /** @description Binds an asset to its place in the outputs. */
        ManifestAsset: {
            output_name: string;
            /** @description The keys and indexes that lead from the output's value to the place; empty for the value itself. */
            path: (string | number)[];
            asset: components["schemas"]["AssetReference"];
        };
        /**
         * @description Whether a model can be used now, or after a download.
         * @enum {string}
         */
        ModelAvailability: "ready_local" | "ready_remote" | "downloadable" | "downloading" | "unavailable";
        /** @description One page of the models that workflows can use. */
        ModelCatalog: {
            /** @constant */
            version: "1";
            /** @description Changes when the catalogue does. A client that sees it change between pages starts again. */
            catalog_revision: string;
            /**
             * @description The owner of the models; `local` means this server.
             * @enum {string}
             */
            scope: "local";
            entries: components["schemas"]["ModelCatalogEntry"][];
            next_cursor: components["schemas"]["NextCursor"];
        };
        /** @description One model. */
        ModelCatalogEntry: {
            /** @description Unique in the catalogue. */
            key: string;
            display_name: string;
            /** @description The kind of model property that it fits, such as `language_model`. */
            compatibility: string;
            availability: components["schemas"]["ModelAvailability"];
            /** @description Whether the operator chose its provider as the default. */
            recommended: boolean;
            /** @enum {string} */
            scope: "local";
            /** @description The provider that serves it, or null if no provider serves it yet. */
            provider: string | null;
            /** @description The model's id with its provider. */
            id: string;
            /** @description The repository on a model hub, or null. */
            repo_id: string | null;
            /** @description The file in that repository, or null. */
            path: string | null;
            supported_tasks: string[];
            /** @description Bytes, or null if it uses none or the size is unknown. */
            size_on_disk: number | null;
            /** @description The value for a property or input of such a model; if that is a text, the `id`. */
            wire_value: {
                /** @description The same as `compatibility` of the entry. Clients refuse an entry with another value. */
                type: string;
            } & {
                [key: string]: unknown;
            };
        };
        /** @description The start of the next page, or null on the last one. */
        NextCursor: string | null;
        /** @description The command takes no data. */
        NoData: Record<string, unknown>;
        /** @description A node of the graph has a new status. Each node and status has one event, regardless of the number of firings. */
        NodeStatusEvent: components["schemas"]["JobEventBase"] & {
            /** @constant */
            type: "node_status";
            node_id: string;
            node_type: string;
            /** @enum {string} */
            status: "pending" | "running" | "completed" | "failed" | "skipped";
            /** @description The completed part, from 0 to 1, or null if unknown. */
            progress: number | null;
            /** @description The reason of the failure, as a text that is safe to show. Only with `failed`. Optional. */
            error?: string;
        };
        /** @description One page of the types that flow between nodes, each with its uses. */
        NodeTypeInventory: {
            /** @constant */
            version: 1;
            /** @description The revision of the node type registry. A client that sees it change between pages starts again. */
            registry_revision: number;
            /**
             * @description The registry is loaded before the server listens.
             * @constant
             */
            registry_ready: true;
            /** @description The number of node types. */
            node_count: number;
            /** @description The number of types on all pages. */
            type_count: number;
            /** @description The start of this page. */
            cursor: number;
            /** @description The start of the next page, or null on the last one. */
            next_cursor: number | null;
            /** @description Sorted by signature. */
            types: components["schemas"]["InventoryType"][];
            /** @description Names of the node packs that could not be loaded. */
            unavailable_packs: string[];
        };
        /** @description An opaque identifier of well-formed Unicode. Clients must not derive routing, ownership or time from its format. */
        OpaqueId: string;
        /** @description The start of the page, taken from `next` of the previous page. Opaque. */
        OptionalCursor: string | null;
        /** @description An output has a value whose bytes are stored as an asset. `value` is the value as in the frame `output_update`: a reference to the asset with its properties, such as width and height. Events of earlier versions lack this member. */
        OutputAssetEvent: components["schemas"]["JobEventBase"] & {
            /** @constant */
            type: "output_update";
            output_name: string;
            asset: components["schemas"]["AssetReference"];
            value?: components["schemas"]["JsonValue"];
        };
        /** @description An output of the workflow has a value: inline, or as an asset, optionally with the value in which a reference replaces the bytes. */
        OutputUpdateEvent: components["schemas"]["OutputValueEvent"] | components["schemas"]["OutputAssetEvent"];
        /** @description An output has a value that is small enough for the event. */
        OutputValueEvent: components["schemas"]["JobEventBase"] & {
            /** @constant */
            type: "output_update";
            output_name: string;
            value: components["schemas"]["JsonValue"];
        };
        /**
         * @description `session` is as durable as `job`, but the job is not listed.
         * @enum {string}
         */
        Persistence: "job" | "session";
        /** @description The expected cost. */
        PreflightCost: {
            /** @description The known part of the cost, or null if nothing is known. */
            amount: number | null;
            /** @description An ISO 4217 code, or null without an amount. */
            currency: string | null;
            /**
             * @description The precision of the cost of a completed run, by the list prices of its models. `exact`: only prices per request, of nodes that certainly make one request each. `estimated`: with token counts, where an answer counts by the node's limit or else as 1,000; or with nodes that count as one request although they may be skipped, retried or caught by a Catch. `partial`: the cost of some nodes is unknown. `unknown`: the cost of all nodes is unknown. A run that fails or is cancelled may cost less, and a provider may report another cost than its prices.
             * @enum {string}
             */
            confidence: "exact" | "estimated" | "partial" | "unknown";
            /** @description Ids of the nodes whose cost is unknown. */
            unknown_cost_nodes: string[];
            /** @description Whether a user has to approve the cost before the run. */
            approval_required: boolean;
        };
        /** @description A problem (`error`) or useful information (`warning`). */
        PreflightIssue: {
            /** @enum {string} */
            severity: "warning" | "error";
            /** @description `workflow_etag_mismatch`, `unknown_input`, `missing_input`, `input_type_mismatch`, `input_below_minimum`, `input_above_maximum`; `graph_` and the code of a workflow diagnostic: `graph_unknown_node`, `graph_duplicate_id`, `graph_missing_property`, `graph_dangling_edge`, `graph_unknown_handle`, `graph_type_mismatch`, `graph_fan_in`, `graph_illegal_cycle`, `graph_incomparable_scopes`, `graph_too_many_inputs`, `graph_too_many_outputs`, `graph_out_of_range`, `graph_invalid_expression`, as warnings `graph_unknown_property`, `graph_unknown_type`, `graph_ignored_handle`, `graph_unknown_name`, `graph_empty_graph`, `graph_unreachable_output`; of workflows that the run calls `called_workflow_not_found`, `called_workflow_invalid`, `called_workflow_unknown_input`, `called_workflow_missing_input`, `called_workflow_input_type_mismatch`, `called_workflow_input_below_minimum`, `called_workflow_input_above_maximum`, `called_workflow_too_deep`, as warnings `called_workflow_recursive`, `called_workflow_unknown`, `called_workflows_unchecked`; `tool_invalid` of agents; `execution_queue_full`, as warnings `execution_likely_queued`, `execution_capacity_unknown`; `over_budget`, an error if the budget for models is spent, else a warning; `more_issues` and `more_requirements` if there are too many to list, the latter an error if an omitted one is not met; if the preflight is kept with a job both as warnings, and also `more_unknown_cost_nodes`. Others may be added. */
            code: string;
            message: string;
            /** @description The node concerned, or null. */
            node_id: string | null;
            /** @description The input, property or handle concerned, or null. A longer name is cut, and ends in `…` and its SHA-256. */
            pin_name: string | null;
        };
        /**
         * @description The depth of the check. `static`: the graph and its inputs. `availability`: also that all its requirements are available. `execution`: also that the target is ready.
         * @enum {string}
         */
        PreflightLevel: "static" | "availability" | "execution";
        /** @description The run to check, and the depth of the check. */
        PreflightRequest: {
            workflow_id: components["schemas"]["OpaqueId"];
            /** @description The workspace in which the workflow is looked up. Absent means the caller's own. */
            workspace_id?: string | null;
            /** @description The etag that the client has seen. Another one is an issue, `workflow_etag_mismatch`. Absent means any etag. */
            workflow_etag?: string | null;
            /**
             * @description The version of the workflow interface that the client uses. Version 1 is the only one. Absent means `1`.
             * @enum {integer|null}
             */
            interface_version?: 1 | null;
            /**
             * @description The depth of the check, each level including the previous ones. Absent means `static`.
             * @enum {string|null}
             */
            level?: "static" | "availability" | "execution" | null;
            /** @description Values of the workflow's inputs, by name. A null is a value if the input accepts any type and is no stream; otherwise it means that no value is given. Absent means none. */
            inputs?: {
                [key: string]: unknown;
            } | null;
            /** @description The target of the run. Absent means this server. */
            execution_target?: components["schemas"]["ExecutionTarget"] | null;
        };
        /** @description A requirement of the run. */
        PreflightRequirement: {
            /** @enum {string} */
            kind: "provider" | "credential" | "model" | "node_pack" | "runtime" | "asset" | "worker" | "approval";
            /** @description Unique together with `kind`. A longer id is cut, and ends in `…` and the SHA-256 of the whole. */
            id: string;
            /** @description The display name. A longer one is cut, and ends in `…`. */
            name: string;
            /**
             * @description `unknown` if a read-only probe has no result in time.
             * @enum {string}
             */
            status: "available" | "missing" | "unavailable" | "downloading" | "unknown";
            /** @description Whether the run cannot start without it. */
            blocking: boolean;
            /** @description A sentence for users, or null. It never repeats a probe's response. */
            message: string | null;
            /** @description Details, by kind. Optional. */
            details?: {
                [key: string]: unknown;
            };
        };
        /** @description The requirements, problems and cost of a run. The check has no side effect. */
        PreflightSummary: {
            /** @constant */
            version: 1;
            level: components["schemas"]["PreflightLevel"];
            workflow_id: components["schemas"]["OpaqueId"];
            /** @description The workflow's etag at the time, or null for an inline graph. */
            workflow_etag: string | null;
            /** @description `static`: there is no issue of severity `error`. `availability`: also every blocking requirement is `available`. `execution`: also the target is ready. */
            runnable: boolean;
            issues: components["schemas"]["PreflightIssue"][];
            /** @description Merged by kind and id, and sorted by them. Empty at level `static`. */
            requirements: components["schemas"]["PreflightRequirement"][];
            /** @description The expected cost of the run, or null if nothing in it has a price. Null at level `static`, which reads no prices. */
            cost: components["schemas"]["PreflightCost"] | null;
        };
        /** @description Check the requirements of a run, without any side effect. */
        PreflightWorkflowCommand: {
            /** @constant */
            command: "preflight_workflow";
            data: components["schemas"]["PreflightRequest"];
            request_id: components["schemas"]["RequestId"];
            type?: components["schemas"]["ToleratedType"];
        };
        /** @description The requirements, problems and cost of a run. */
        PreflightWorkflowReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "preflight_workflow";
            result: components["schemas"]["PreflightSummary"];
        };
        /** @description One problem of a request. */
        Problem: {
            /** @description The place of the problem, as a JSON pointer into the request (`/body/params/name`, `/query/limit`). */
            path: string;
            /** @description The problem, as one sentence. */
            message: string;
            /** @description A stable word for the kind of problem, if there is one. */
            code?: string;
        };
        /**
         * @description `disabled` means that the operator disabled it, `unavailable` that this server does not have it.
         * @enum {string}
         */
        ProfileState: "available" | "disabled" | "unavailable";
        /** @description The origin of a result, normalised and redacted. It never holds credentials, authorization headers, secrets of providers or unbounded media. */
        Provenance: {
            workflow_id: components["schemas"]["OpaqueId"];
            /** @description The etag of the graph that ran, or null for an inline graph. */
            workflow_revision: string | null;
            /** @description The values of the workflow's inputs, by name. Bytes and encoded media above 16 KiB are described by `{type, content_type, size, sha256}`. So is an input whose JSON text, with those of the inputs before it, has more than a million bytes: by the size and the digest of that text, as `application/json`. */
            inputs: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** @description The providers that were called. */
            providers: string[];
            /** @description The models that were called, as `provider/model`. */
            models: string[];
            /** @description The seed of the run's random numbers, or null if unknown. */
            seed: number | null;
        };
        /** @description The body of a request that is refused before any handler runs. */
        RefusedError: {
            /** @description `Unauthorized`, `Remote access requires authentication`, `invalid_token`, or the identity provider's reason. */
            error: string;
        };
        /** @description Chosen by the client; correlates one command with exactly one `rpc_response`. It is not a job key. */
        RequestId: string;
        /** @description Request the cancellation of a job. */
        RequestJobCancellationCommand: {
            /** @constant */
            command: "request_job_cancellation";
            data: components["schemas"]["JobRequest"];
            request_id: components["schemas"]["RequestId"];
            type?: components["schemas"]["ToleratedType"];
        };
        /** @description The outcome of a cancellation. */
        RequestJobCancellationReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "request_job_cancellation";
            result: components["schemas"]["CancelJobResponse"];
        };
        /** @description JSON-safe outputs and an explicit list of every durable asset that they refer to. Large media is stored by reference. In each value, in its keys and in the names of assets, secrets of 8 characters or more that the service knows are replaced by `[redacted]`. Output names and node ids stay as in the workflow. The texts of a stream are redacted as the one text that they form together; those of a list one by one. */
        ResultManifest: {
            /** @constant */
            version: 1;
            job_id: components["schemas"]["OpaqueId"];
            completed_at: components["schemas"]["Timestamp"];
            /** @description By output name, in the form of a run's result: a list exactly when the workflow's interface declares that output `stream: true`. An output without a value is missing here; an output with the value null is null. */
            outputs: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            assets: components["schemas"]["ManifestAsset"][];
            /** @description The cost of the job's model calls, including those that failed half-way. Null if nothing in it has a price, and if it was paid in several currencies. */
            cost: components["schemas"]["CostActual"] | null;
            provenance: components["schemas"]["Provenance"];
        };
        /** @description The value that a suspended job waits for. If more than one node waits, `node_id` or `name` selects the node. */
        ResumeJobRequest: {
            value: components["schemas"]["JsonValue"];
            /** @description The waiting node. */
            node_id?: string | null;
            /** @description The name under which the value is awaited. */
            name?: string | null;
        };
        /** @description The answer to an RPC command that failed. It also answers a command with a `request_id` that the server does not know or whose data is wrong, unless it is a job command. */
        RpcErrorReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @description The command as it was sent. */
            command: string;
            error: components["schemas"]["SocketError"];
        };
        /** @description A live runner. */
        RunnerTarget: {
            /** @constant */
            kind: "runner";
            runner_id: components["schemas"]["OpaqueId"];
            concurrent?: components["schemas"]["Concurrent"];
        };
        /** @description The error body of `/api/sdk/v1/*` and of the workflow interface. SDKs read the flat fields. */
        SdkError: {
            error: components["schemas"]["ApiErrorDetail"];
            /** @description A stable UPPER_SNAKE code from the error catalogue. */
            code: string;
            message: string;
            /** @description The same text as `message`. */
            detail: string;
            /** @description Whether the same request may succeed later. */
            retryable: boolean;
        };
        /** @description The position of an event in its job's history; it starts at 1 and has no gaps. */
        Sequence: number;
        /** @description A SHA-256 digest as 64 lower-case hexadecimal characters. */
        Sha256: string;
        /**
         * @description `messagepack` in binary frames, `json-text` in text frames.
         * @enum {string}
         */
        SocketEncoding: "messagepack" | "json-text";
        /** @description The error of an `rpc_response`. */
        SocketError: {
            /** @description A stable UPPER_SNAKE code from the error catalogue. */
            code: string;
            message: string;
            retryable: boolean;
            /** @description `SERVICE_UNAVAILABLE` if a retry may help, else equal to `code`. */
            apiCode: string;
            /** @description Every problem found, up to a hundred. Optional. */
            problems?: components["schemas"]["Problem"][];
            /** @description True if there are more problems than the hundred that are listed. Optional. */
            more_problems?: boolean;
            /** @description The job that may be stored, for a submission whose outcome is not known. Without it nothing is stored. Optional. */
            job_id?: string | null;
        };
        /** @description Submit a job, at most once under its idempotency key. */
        SubmitJobCommand: {
            /** @constant */
            command: "submit_job";
            data: components["schemas"]["SubmitJobRequest"];
            request_id: components["schemas"]["RequestId"];
            type?: components["schemas"]["ToleratedType"];
        };
        /** @description The execution options of the job. */
        SubmitJobOptions: {
            concurrent?: components["schemas"]["Concurrent"];
            /** @description True: generated files are temporary, and the result manifest is authoritative. Absent means `true`. */
            require_terminal_result?: boolean | null;
        };
        /** @description The job is persisted together with its idempotency record. */
        SubmitJobReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "submit_job";
            result: components["schemas"]["SubmitJobResponse"];
        };
        /** @description A run, to be accepted at most once under its idempotency key. */
        SubmitJobRequest: {
            client_request_id: components["schemas"]["ClientRequestId"];
            idempotency_key: components["schemas"]["IdempotencyKey"];
            workflow_id: components["schemas"]["OpaqueId"];
            /** @description The etag that the client has seen. The submission is refused if the workflow has another one. */
            workflow_etag: string;
            /**
             * @description The version of the workflow interface that the client uses.
             * @constant
             */
            interface_version: 1;
            /** @description The workspace in which the workflow is looked up. Absent means the caller's own. */
            workspace_id?: string | null;
            /** @description Values of the workflow's inputs, by name. A null is a value if the input accepts any type and is no stream; otherwise it means that no value is given. Absent means none. */
            inputs?: {
                [key: string]: unknown;
            } | null;
            /** @description Absent means the defaults. */
            options?: components["schemas"]["SubmitJobOptions"] | null;
        };
        /** @description The job is persisted together with its idempotency record. */
        SubmitJobResponse: {
            client_request_id: components["schemas"]["ClientRequestId"];
            job_id: components["schemas"]["OpaqueId"];
            /**
             * @description `queued` while the job waits for capacity, `accepted` from then on, whatever its status is. A snapshot has the details.
             * @enum {string}
             */
            status: "accepted" | "queued";
            /** @description The place of a `queued` job among the owner's waiting jobs, else null. */
            queue_position: number | null;
            /** @description True: an equivalent request was accepted earlier under the same key, and this is its job. */
            duplicate: boolean;
            accepted_at: components["schemas"]["Timestamp"];
            /** @description The part of the preflight that is kept with the job, the same as in its snapshots. */
            preflight: components["schemas"]["PreflightSummary"];
        };
        /** @description Follow the events of a job, from any sequence on. */
        SubscribeJobCommand: {
            /** @constant */
            command: "subscribe_job";
            data: components["schemas"]["SubscribeJobRequest"];
            request_id: components["schemas"]["RequestId"];
            type?: components["schemas"]["ToleratedType"];
        };
        /** @description The current job; its events follow as `job_event` frames. */
        SubscribeJobReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "subscribe_job";
            result: components["schemas"]["SubscribeJobResponse"];
        };
        /** @description The job to follow, and the start position. */
        SubscribeJobRequest: {
            job_id: components["schemas"]["OpaqueId"];
            /** @description The last sequence that the client has; 0 for none. Absent means `0`. */
            after_sequence?: number | null;
        };
        /** @description The current job, and the events that follow as `job_event` frames: the retained ones after the given sequence, then live ones. */
        SubscribeJobResponse: {
            job_id: components["schemas"]["OpaqueId"];
            requested_after_sequence: components["schemas"]["LastSequence"];
            /** @description The first sequence that is replayed. Null if no event is missing, and if some of the missing events are not kept any more. Then the snapshot stands for everything up to `replay_to_sequence`. */
            replay_from_sequence: number | null;
            replay_to_sequence: components["schemas"]["LastSequence"];
            snapshot: components["schemas"]["JobSnapshot"];
        };
        /** @description A file in temporary storage. It has no asset row, thumbnail, listing or provenance. */
        TemporaryAssetUpload: {
            /** @constant */
            version: 1;
            /** @description The path, `/api/storage/temp/…`, that inputs of a run may refer to. */
            uri: string;
            /** @description The file's name as sent, without folders and control characters, at most 255 characters; without one, `file` and an extension. */
            name: string;
            /** @description The MIME type, detected from the bytes if possible, else as sent. */
            content_type: string;
            /** @description Bytes. */
            size: number;
            expires_at: components["schemas"]["Timestamp"];
        };
        /**
         * Format: date-time
         * @description An RFC 3339 time with an explicit offset. The server writes UTC with `Z` and milliseconds.
         */
        Timestamp: string;
        /** @description Accepted and ignored, because some clients send a `type` with every command. */
        ToleratedType: string | number | boolean | null | unknown[] | Record<string, unknown>;
        /** @description The type of a property, input or output. A scalar fits a list of it, numbers fit each other, and `any` fits everything. */
        TypeMetadata: {
            /** @description The name of the type: `any`, `str`, `int`, `float`, `bool`, `list`, `dict`, `union`, `enum`, `image`, `audio`, `video`, `document`, `dataframe`, `model`, `chunk`, or one that a node pack adds. */
            type: string;
            /** @description Whether null is a value of the type. */
            optional: boolean;
            /** @description The values of an `enum`, else empty. */
            values: (string | number)[];
            /** @description The arguments: `list` has its item, `dict` key and value, `union` its members; else empty. */
            type_args: components["schemas"]["TypeMetadata"][];
            /** @description The name of the enumeration or record that the type stands for, or null. */
            type_name: string | null;
        };
        /** @description The input that one node of a suspended job waits for. */
        WaitingFor: {
            /** @description The waiting node. To resume the job, name it as here or as in the graph. */
            node_id: string;
            /**
             * @description `approval`: a user's decision. `value`: a value from outside. `delay`: a time, which needs no answer.
             * @enum {string}
             */
            kind: "approval" | "value" | "delay";
            /** @description The name of the awaited value, or null. To resume the job, give it as here or as in the graph. */
            name: string | null;
            /** @description A text to show to the user who decides, or null. */
            message: string | null;
            /** @description The JSON schema (2020-12, without formats) that the value must satisfy, or null if any value is accepted. Known secrets in it are redacted here, but apply in validation. A node with an unusable schema fails with `bad_schema`. */
            schema: {
                [key: string]: unknown;
            } | null;
        };
        /** @description A worker that is attached to this server. */
        WorkerTarget: {
            /** @constant */
            kind: "worker";
            worker_id: components["schemas"]["OpaqueId"];
            concurrent?: components["schemas"]["Concurrent"];
        };
        /** @description A problem that keeps a graph from running (`error`), or a hint for its author (`warning`). */
        WorkflowDiagnostic: {
            /** @enum {string} */
            severity: "warning" | "error";
            /** @description A stable word: `unknown_node`, `duplicate_id`, `missing_property`, `dangling_edge`, `unknown_handle`, `type_mismatch`, `fan_in`, `illegal_cycle`, `incomparable_scopes`, `too_many_inputs` (a node has more than 20,000 dynamic inputs), `too_many_outputs` (a node has more than 20,000 outputs), `out_of_range` (a value in the graph is outside of a property's limits or choices), `invalid_expression` (a formula, code, pattern, path, template or schema that cannot be parsed); as warnings `unknown_property` (a key of `data` that is nearly a property), `unknown_type` (a dynamic input or output of a type that does not exist), `ignored_handle` (a dynamic input or output that the node type cannot have), `unknown_name` (a name in a text such as a template that no input has), `empty_graph` and `unreachable_output` (the outputs of a node reach no output node); or one that is added later. */
            code: string;
            message: string;
            /** @description The node concerned, or null. Optional. */
            node_id?: string | null;
            /** @description The property or handle concerned, or null. Optional. */
            pin_name?: string | null;
        };
        /** @description A hash of the canonical graph and interface: equal content has an equal etag, whatever the times. Submissions and preflights name it as `workflow_etag`. It is not the HTTP `ETag`, which is the revision of the stored row. */
        WorkflowEtag: string;
        /** @description One input of a workflow. */
        WorkflowInput: {
            /** @description The input node. */
            node_id: string;
            /** @description The key in `params` and `inputs`. */
            name: string;
            description: string;
            type: components["schemas"]["TypeMetadata"];
            /** @description Whether a run needs a value, because the workflow has no default. */
            required: boolean;
            /** @description The default value; null if there is none. */
            default: string | number | boolean | null | unknown[] | Record<string, unknown>;
            /** @description The minimum of a number. Optional. */
            min?: number;
            /** @description The maximum of a number. Optional. */
            max?: number;
            /** @description Whether values may be sent while the job runs, with `stream_input`. Optional; absent means that they may not. */
            stream?: boolean;
        };
        /** @description The inputs and outputs of a workflow, derived by the server from its graph. A graph that cannot run has diagnostics of severity `error`, and the derivable part of its interface. */
        WorkflowInterface: {
            /** @constant */
            version: 1;
            workflow_id: components["schemas"]["OpaqueId"];
            etag: components["schemas"]["WorkflowEtag"];
            /**
             * @description The side that derived it.
             * @constant
             */
            source: "server";
            inputs: components["schemas"]["WorkflowInput"][];
            outputs: components["schemas"]["WorkflowOutput"][];
            diagnostics: components["schemas"]["WorkflowDiagnostic"][];
        };
        /** @description The reason why one interface could not be read. */
        WorkflowInterfaceError: {
            workflow_id: components["schemas"]["OpaqueId"];
            /**
             * @description `workflow_not_found` also for one that belongs to another user.
             * @enum {string}
             */
            code: "workflow_not_found" | "invalid_graph";
            message: string;
        };
        /** @description The workflows whose interfaces to read. */
        WorkflowInterfacesRequest: {
            /** @description Workflow ids, without repetition. */
            ids: components["schemas"]["OpaqueId"][];
            /**
             * @description The version of the interface record. Version 1 is the only one. Absent means `1`.
             * @enum {integer|null}
             */
            version?: 1 | null;
        };
        /** @description The interfaces that could be read, in the order of the request, and the reasons for the others. */
        WorkflowInterfacesResponse: {
            interfaces: components["schemas"]["WorkflowInterface"][];
            errors: components["schemas"]["WorkflowInterfaceError"][];
        };
        /** @description One output of a workflow. */
        WorkflowOutput: {
            /** @description The output node. */
            node_id: string;
            /** @description The key in `outputs`. */
            name: string;
            description: string;
            type: components["schemas"]["TypeMetadata"];
            /** @description Whether it gives any number of values; then the run's output is a list. */
            stream: boolean;
            /** @description How the values of a stream belong together: `items` for separate values, `text` for pieces of one text. Optional. */
            stream_kind?: string;
        };
        /**
         * @description The presentation of the workflow in a client: as a form that is run, as a chat, or as a small app. It has no meaning for a run.
         * @enum {string}
         */
        WorkflowRunMode: "workflow" | "chat" | "app";
        /** @description A workflow as pickers show it. */
        WorkflowSummary: {
            id: components["schemas"]["OpaqueId"];
            name: string;
            description: string;
            /** @description The workflow's `etag`. A client may reuse an interface that it read under the same revision. */
            revision: components["schemas"]["WorkflowEtag"];
            /** @description The revision of the node type registry; interfaces may change with it. */
            registry_revision: number;
            run_mode: components["schemas"]["WorkflowRunMode"];
        };
        /** @description One page of workflow summaries. */
        WorkflowSummaryPage: {
            workflows: components["schemas"]["WorkflowSummary"][];
            next: components["schemas"]["NextCursor"];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type ApiError = components['schemas']['ApiError'];
export type ApiErrorDetail = components['schemas']['ApiErrorDetail'];
export type AssetPersistence = components['schemas']['AssetPersistence'];
export type AssetReference = components['schemas']['AssetReference'];
export type CancelJobResponse = components['schemas']['CancelJobResponse'];
export type Capabilities = components['schemas']['Capabilities'];
export type CapabilityExecutionOptions = components['schemas']['CapabilityExecutionOptions'];
export type CapabilityLimits = components['schemas']['CapabilityLimits'];
export type CapabilityProfiles = components['schemas']['CapabilityProfiles'];
export type ClientRequestId = components['schemas']['ClientRequestId'];
export type Concurrent = components['schemas']['Concurrent'];
export type CostActual = components['schemas']['CostActual'];
export type EventDetail = components['schemas']['EventDetail'];
export type ExecutionTarget = components['schemas']['ExecutionTarget'];
export type GetCapabilitiesCommand = components['schemas']['GetCapabilitiesCommand'];
export type GetCapabilitiesReply = components['schemas']['GetCapabilitiesReply'];
export type GetJobSnapshotCommand = components['schemas']['GetJobSnapshotCommand'];
export type GetJobSnapshotReply = components['schemas']['GetJobSnapshotReply'];
export type GetNodeTypeInventoryCommand = components['schemas']['GetNodeTypeInventoryCommand'];
export type GetNodeTypeInventoryData = components['schemas']['GetNodeTypeInventoryData'];
export type GetNodeTypeInventoryReply = components['schemas']['GetNodeTypeInventoryReply'];
export type GetWorkflowInterfaceCommand = components['schemas']['GetWorkflowInterfaceCommand'];
export type GetWorkflowInterfaceData = components['schemas']['GetWorkflowInterfaceData'];
export type GetWorkflowInterfaceReply = components['schemas']['GetWorkflowInterfaceReply'];
export type GetWorkflowInterfacesCommand = components['schemas']['GetWorkflowInterfacesCommand'];
export type GetWorkflowInterfacesReply = components['schemas']['GetWorkflowInterfacesReply'];
export type IdempotencyKey = components['schemas']['IdempotencyKey'];
export type InventoryExample = components['schemas']['InventoryExample'];
export type InventoryType = components['schemas']['InventoryType'];
export type JobActiveStatus = components['schemas']['JobActiveStatus'];
export type JobCancelledEvent = components['schemas']['JobCancelledEvent'];
export type JobCompletedEvent = components['schemas']['JobCompletedEvent'];
export type JobError = components['schemas']['JobError'];
export type JobEvent = components['schemas']['JobEvent'];
export type JobEventBase = components['schemas']['JobEventBase'];
export type JobEventFrame = components['schemas']['JobEventFrame'];
export type JobFailedEvent = components['schemas']['JobFailedEvent'];
export type JobRequest = components['schemas']['JobRequest'];
export type JobSnapshot = components['schemas']['JobSnapshot'];
export type JobSnapshotAccepted = components['schemas']['JobSnapshotAccepted'];
export type JobSnapshotBase = components['schemas']['JobSnapshotBase'];
export type JobSnapshotCancelRequested = components['schemas']['JobSnapshotCancelRequested'];
export type JobSnapshotCancelled = components['schemas']['JobSnapshotCancelled'];
export type JobSnapshotCompleted = components['schemas']['JobSnapshotCompleted'];
export type JobSnapshotFailed = components['schemas']['JobSnapshotFailed'];
export type JobSnapshotQueued = components['schemas']['JobSnapshotQueued'];
export type JobSnapshotRecovering = components['schemas']['JobSnapshotRecovering'];
export type JobSnapshotRunning = components['schemas']['JobSnapshotRunning'];
export type JobSnapshotSuspended = components['schemas']['JobSnapshotSuspended'];
export type JobStatus = components['schemas']['JobStatus'];
export type JobStatusEvent = components['schemas']['JobStatusEvent'];
export type JobTerminalEvent = components['schemas']['JobTerminalEvent'];
export type JsonValue = components['schemas']['JsonValue'];
export type LastSequence = components['schemas']['LastSequence'];
export type LifecycleFile = components['schemas']['LifecycleFile'];
export type LifecycleIndex = components['schemas']['LifecycleIndex'];
export type LifecycleReply = components['schemas']['LifecycleReply'];
export type LifecycleRequest = components['schemas']['LifecycleRequest'];
export type ListWorkflowSummariesCommand = components['schemas']['ListWorkflowSummariesCommand'];
export type ListWorkflowSummariesData = components['schemas']['ListWorkflowSummariesData'];
export type ListWorkflowSummariesReply = components['schemas']['ListWorkflowSummariesReply'];
export type LocalTarget = components['schemas']['LocalTarget'];
export type ManifestAsset = components['schemas']['ManifestAsset'];
export type ModelAvailability = components['schemas']['ModelAvailability'];
export type ModelCatalog = components['schemas']['ModelCatalog'];
export type ModelCatalogEntry = components['schemas']['ModelCatalogEntry'];
export type NextCursor = components['schemas']['NextCursor'];
export type NoData = components['schemas']['NoData'];
export type NodeStatusEvent = components['schemas']['NodeStatusEvent'];
export type NodeTypeInventory = components['schemas']['NodeTypeInventory'];
export type OpaqueId = components['schemas']['OpaqueId'];
export type OptionalCursor = components['schemas']['OptionalCursor'];
export type OutputAssetEvent = components['schemas']['OutputAssetEvent'];
export type OutputUpdateEvent = components['schemas']['OutputUpdateEvent'];
export type OutputValueEvent = components['schemas']['OutputValueEvent'];
export type Persistence = components['schemas']['Persistence'];
export type PreflightCost = components['schemas']['PreflightCost'];
export type PreflightIssue = components['schemas']['PreflightIssue'];
export type PreflightLevel = components['schemas']['PreflightLevel'];
export type PreflightRequest = components['schemas']['PreflightRequest'];
export type PreflightRequirement = components['schemas']['PreflightRequirement'];
export type PreflightSummary = components['schemas']['PreflightSummary'];
export type PreflightWorkflowCommand = components['schemas']['PreflightWorkflowCommand'];
export type PreflightWorkflowReply = components['schemas']['PreflightWorkflowReply'];
export type Problem = components['schemas']['Problem'];
export type ProfileState = components['schemas']['ProfileState'];
export type Provenance = components['schemas']['Provenance'];
export type RefusedError = components['schemas']['RefusedError'];
export type RequestId = components['schemas']['RequestId'];
export type RequestJobCancellationCommand = components['schemas']['RequestJobCancellationCommand'];
export type RequestJobCancellationReply = components['schemas']['RequestJobCancellationReply'];
export type ResultManifest = components['schemas']['ResultManifest'];
export type ResumeJobRequest = components['schemas']['ResumeJobRequest'];
export type RpcErrorReply = components['schemas']['RpcErrorReply'];
export type RunnerTarget = components['schemas']['RunnerTarget'];
export type SdkError = components['schemas']['SdkError'];
export type Sequence = components['schemas']['Sequence'];
export type Sha256 = components['schemas']['Sha256'];
export type SocketEncoding = components['schemas']['SocketEncoding'];
export type SocketError = components['schemas']['SocketError'];
export type SubmitJobCommand = components['schemas']['SubmitJobCommand'];
export type SubmitJobOptions = components['schemas']['SubmitJobOptions'];
export type SubmitJobReply = components['schemas']['SubmitJobReply'];
export type SubmitJobRequest = components['schemas']['SubmitJobRequest'];
export type SubmitJobResponse = components['schemas']['SubmitJobResponse'];
export type SubscribeJobCommand = components['schemas']['SubscribeJobCommand'];
export type SubscribeJobReply = components['schemas']['SubscribeJobReply'];
export type SubscribeJobRequest = components['schemas']['SubscribeJobRequest'];
export type SubscribeJobResponse = components['schemas']['SubscribeJobResponse'];
export type TemporaryAssetUpload = components['schemas']['TemporaryAssetUpload'];
export type Timestamp = components['schemas']['Timestamp'];
export type ToleratedType = components['schemas']['ToleratedType'];
export type TypeMetadata = components['schemas']['TypeMetadata'];
export type WaitingFor = components['schemas']['WaitingFor'];
export type WorkerTarget = components['schemas']['WorkerTarget'];
export type WorkflowDiagnostic = components['schemas']['WorkflowDiagnostic'];
export type WorkflowEtag = components['schemas']['WorkflowEtag'];
export type WorkflowInput = components['schemas']['WorkflowInput'];
export type WorkflowInterface = components['schemas']['WorkflowInterface'];
export type WorkflowInterfaceError = components['schemas']['WorkflowInterfaceError'];
export type WorkflowInterfacesRequest = components['schemas']['WorkflowInterfacesRequest'];
export type WorkflowInterfacesResponse = components['schemas']['WorkflowInterfacesResponse'];
export type WorkflowOutput = components['schemas']['WorkflowOutput'];
export type WorkflowRunMode = components['schemas']['WorkflowRunMode'];
export type WorkflowSummary = components['schemas']['WorkflowSummary'];
export type WorkflowSummaryPage = components['schemas']['WorkflowSummaryPage'];
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
