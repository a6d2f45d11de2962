// The lifecycle profile, version 1: types of its schemas. The contract is version 0.5.0.
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The error body of `/api/*`, `/admin/*` and every other route without a form of its own. */
        ApiError: {
            error: components["schemas"]["ApiErrorDetail"];
        };
        /** @description What went wrong, for people and programs. */
        ApiErrorDetail: {
            message: string;
            /** @description A stable snake_case word from the error catalogue. */
            type: string;
            /** @description The HTTP status. */
            code: number;
            /** @description Every problem found, up to a hundred, for 400 and 422. Optional. */
            problems?: components["schemas"]["Problem"][];
            /** @description True where more is wrong than the hundred problems that are listed. Optional. */
            more_problems?: boolean;
        };
        /**
         * @description What becomes of generated files: `auto` stores them as assets, `temporary` keeps them until the temporary store lets them go.
         * @enum {string}
         */
        AssetPersistence: "auto" | "temporary";
        /** @description A stored file, by reference. Its bytes are kept and served as they were made: secrets in them are not replaced. */
        AssetReference: {
            asset_id: components["schemas"]["OpaqueId"];
            /** @description The canonical path, `/api/storage/<key>`. */
            uri: string;
            /** @description The file's name, or null. */
            name: string | null;
            /** @description The MIME type. */
            content_type: string;
            /** @description Bytes, or null where that is not known. */
            size: number | null;
            /** @description The digest of the bytes, or null. */
            sha256: string | null;
            /** @description A signed address that needs no credential, or null. */
            download_url: string | null;
            /**
             * Format: date-time
             * @description When `download_url`, or else the file itself, expires; or null.
             */
            expires_at: string | null;
        };
        /** @description What became of a cancellation. It is final only where the snapshot says `cancelled`. */
        CancelJobResponse: {
            job_id: components["schemas"]["OpaqueId"];
            status: components["schemas"]["JobStatus"];
            /** @description Whether the job is on its way to its end because of a cancellation. */
            cancel_requested: boolean;
            snapshot: components["schemas"]["JobSnapshot"];
        };
        /** @description What this server can do, and the limits that it enforces. */
        Capabilities: {
            /** @constant */
            protocol_version: "1";
            server_version: string;
            server_time: components["schemas"]["Timestamp"];
            /** @description The encodings of the socket. */
            supported_encodings: components["schemas"]["SocketEncoding"][];
            default_encoding: components["schemas"]["SocketEncoding"];
            profiles: components["schemas"]["CapabilityProfiles"];
            /** @description The revision of the node type registry. It changes when node types do. */
            registry_revision: number;
            /** @description `trusted_local`: callers from trusted places need no credential. `bearer`: a token is accepted. */
            auth_modes: ("trusted_local" | "bearer")[];
            /** @description How a reference to a file may begin, such as `asset://`, `/api/storage/` and, for what comes with the service, `/api/assets/packages/`. */
            asset_uri_schemes: string[];
            execution_options: components["schemas"]["CapabilityExecutionOptions"];
            limits: components["schemas"]["CapabilityLimits"];
        };
        /** @description The execution options of a run, and what they are where a submission says nothing. */
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
            /** @description The most ids in one request that takes several. */
            max_rpc_batch: number;
            /** @description Media of results and events that is written as text, base64 or a base64 `data:` URL, of more than so many bytes of that text travels by reference. Bytes always do. Other texts and structured values are no media: they stay inline, whatever their size. */
            max_inline_bytes: number;
            max_upload_bytes: number;
            /** @description The most bytes that the temporary files of one user may take together, in all workspaces. Null or absent where there is no limit. */
            max_temporary_bytes_per_user?: number | null;
            max_queued_jobs: number;
            /** @description The most events that are kept of one job. */
            max_job_event_replay: number;
            /** @description How long the body of a request of this profile may take to come, behind its head, and how long the answer, once the request is read. Runs, uploads and streams are excepted. */
            request_timeout_seconds: number;
            /** @description How long an idempotency key is remembered. */
            idempotency_retention_seconds: number;
        };
        /** @description The parts of the lifecycle profile. `jobs` is available only where the preview of the job operations is switched on. */
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
        /** @description What a job cost. */
        CostActual: {
            /** @description What the providers say, else what their prices come to, added up. */
            amount: number;
            /** @description An ISO 4217 code. */
            currency: string;
            /** @description What the preflight had estimated, or null. */
            estimated_amount: number | null;
            /** @description Whether the amount is what the providers reported, and not computed from prices. */
            reconciled: boolean;
        };
        /**
         * @description `outputs` leaves out the frames of nodes and edges, `terminal` also those of outputs. Errors always pass.
         * @enum {string}
         */
        EventDetail: "full" | "outputs" | "terminal";
        /** @description Where a run is to take place. The server never attaches, provisions or falls back to another target. */
        ExecutionTarget: components["schemas"]["LocalTarget"] | components["schemas"]["WorkerTarget"] | components["schemas"]["RunnerTarget"];
        /** @description Ask what this server can do. */
        GetCapabilitiesCommand: {
            /** @constant */
            command: "get_capabilities";
            request_id: components["schemas"]["RequestId"];
            /** @description Optional. */
            data?: components["schemas"]["NoData"] | null;
            type?: components["schemas"]["ToleratedType"];
        };
        /** @description What this server can do. */
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
        /** @description Which page to read. */
        GetNodeTypeInventoryData: {
            /**
             * @description Where the page begins, taken from `next_cursor` of the previous page.
             * @default 0
             */
            cursor?: number | null;
            /**
             * @description How many entries a page holds at most.
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
        /** @description Read what a workflow takes and gives. */
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
             * @description The version of the interface record. There is only 1.
             * @default 1
             * @enum {integer|null}
             */
            version?: 1 | null;
        };
        /** @description What a workflow takes and gives. */
        GetWorkflowInterfaceReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "get_workflow_interface";
            result: components["schemas"]["WorkflowInterface"];
        };
        /** @description Read what several workflows take and give. */
        GetWorkflowInterfacesCommand: {
            /** @constant */
            command: "get_workflow_interfaces";
            data: components["schemas"]["WorkflowInterfacesRequest"];
            request_id: components["schemas"]["RequestId"];
            type?: components["schemas"]["ToleratedType"];
        };
        /** @description What several workflows take and give. */
        GetWorkflowInterfacesReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "get_workflow_interfaces";
            result: components["schemas"]["WorkflowInterfacesResponse"];
        };
        /** @description Identifies one logical submission within the caller's user and workspace and the advertised retention. Requests are equivalent that differ in nothing but `client_request_id`, the order of keys, and properties that are absent, null, or what absent means. That goes for the properties of the request, not for the members of `inputs`: the key is looked up before the workflow, so an input that is left out, one that is null and one that is the workflow's own value make three different requests, and so do bytes and their base64 text. */
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
            /** @description Whether there are more values than are listed. */
            values_truncated: boolean;
            /** @description How many properties have the type. */
            input_uses: number;
            /** @description How many outputs have the type. */
            output_uses: number;
            /** @description How many node types use it. */
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
        /** @description Why a job failed, in words that are safe to show. */
        JobError: {
            message: string;
            /** @description A stable snake_case word: `node_error` for a node that failed, `timed_out`, `node_interrupted` for a node that was cut off and must not run twice, `unavailable` for what the server lacked at that time, such as room on its disk, `data_damaged` where stored data of the job, or a file that it loads, is damaged, or a word that a node type gives. */
            type: string;
            /** @description The node at fault, or null. */
            node_id: string | null;
            /** @description Whether a retry of the same job may succeed. */
            retryable: boolean;
        };
        /** @description One persisted fact about a job. Clients discard sequences that they have seen, process known types in order and skip unknown types. */
        JobEvent: components["schemas"]["JobStatusEvent"] | components["schemas"]["NodeStatusEvent"] | components["schemas"]["OutputUpdateEvent"] | components["schemas"]["JobTerminalEvent"];
        /** @description What every event has. */
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
        /** @description Names one job. */
        JobRequest: {
            job_id: components["schemas"]["OpaqueId"];
        };
        /** @description The authoritative state of a job. Where provisional frames disagree with it, it is right. */
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
        /** @description What every snapshot has, whatever its status. */
        JobSnapshotBase: {
            /** @constant */
            version: 1;
            job_id: components["schemas"]["OpaqueId"];
            /** @description The workflow, or the label that was sent with an inline graph. A run that names neither gets an id of its own here. */
            workflow_id: components["schemas"]["OpaqueId"];
            /** @description The workspace of the job, or null. */
            workspace_id: string | null;
            /** @description The etag of the graph that the job was accepted with, or null for an inline graph. */
            workflow_etag: string | null;
            created_at: components["schemas"]["Timestamp"];
            updated_at: components["schemas"]["Timestamp"];
            /**
             * Format: date-time
             * @description When it first began to run, or null.
             */
            started_at: string | null;
            last_sequence: components["schemas"]["LastSequence"];
            /** @description The preflight that admitted the job, as much of it as is kept: at the most 100 issues, 200 requirements and 200 nodes without a known cost, of about 64 KiB together, requirements that block before others. Issues of the codes `more_issues`, `more_requirements` and `more_unknown_cost_nodes` count what is left out. Null for a job that needed none. */
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
            /** @description Why it was cancelled, where there is more to say; else null. */
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
            /** @description The place in the queue, 1 for the next to start. */
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
        /** @description Paused until a person or an event continues it: nothing else of the job can run. */
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
         * @description `accepted` persisted and admitted; `queued` waiting for capacity; `running`; `suspended` paused until a person or an event continues it; `recovering` being reconciled after an interruption; `cancel_requested` cancellation accepted, not yet ended; and the terminal ones, which never change: `completed`, `failed`, `cancelled`.
         * @enum {string}
         */
        JobStatus: "accepted" | "queued" | "running" | "suspended" | "recovering" | "cancel_requested" | "completed" | "failed" | "cancelled";
        /** @description The job has a new status and has not ended. */
        JobStatusEvent: components["schemas"]["JobEventBase"] & {
            /** @constant */
            type: "job_status";
            status: components["schemas"]["JobActiveStatus"];
            /** @description The place in the queue when it was queued, else null. Later changes are not events. */
            queue_position: number | null;
            /** @description A sentence for people, or null. */
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
        /** @description Any answer to a command of the lifecycle profile. Those to `submit_job`, `get_job_snapshot`, `subscribe_job` and `request_job_cancellation` come only where the preview of the job operations is switched on. */
        LifecycleReply: components["schemas"]["GetCapabilitiesReply"] | components["schemas"]["PreflightWorkflowReply"] | components["schemas"]["SubmitJobReply"] | components["schemas"]["GetJobSnapshotReply"] | components["schemas"]["SubscribeJobReply"] | components["schemas"]["RequestJobCancellationReply"] | components["schemas"]["RpcErrorReply"];
        /** @description Any command of the lifecycle profile. `submit_job`, `get_job_snapshot`, `subscribe_job` and `request_job_cancellation` are served only where the preview of the job operations is switched on. */
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
        /** @description Which page to read. */
        ListWorkflowSummariesData: {
            /**
             * @description How many entries a page holds at most.
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
        /** @description Binds an asset to the place in the outputs where it belongs. */
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
        /** @description One page of the models that workflows may be given. */
        ModelCatalog: {
            /** @constant */
            version: "1";
            /** @description Changes when the catalogue does. A client that sees it change between pages begins anew. */
            catalog_revision: string;
            /**
             * @description Whose models these are; `local` means this server's.
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
            /** @description Whether its provider is the one that the operator chose as the default. */
            recommended: boolean;
            /** @enum {string} */
            scope: "local";
            /** @description The provider that serves it, or null for one that is not served yet. */
            provider: string | null;
            /** @description The model's id with its provider. */
            id: string;
            /** @description The repository on a model hub, or null. */
            repo_id: string | null;
            /** @description The file in that repository, or null. */
            path: string | null;
            supported_tasks: string[];
            /** @description Bytes, or null where it takes none or that is not known. */
            size_on_disk: number | null;
            /** @description The value to put into a property or input that takes such a model; where that takes a text, its `id`. */
            wire_value: {
                /** @description The same as `compatibility` of the entry. Clients refuse an entry where it is another. */
                type: string;
            } & {
                [key: string]: unknown;
            };
        };
        /** @description Where the next page begins, or null on the last one. */
        NextCursor: string | null;
        /** @description The command takes no data. */
        NoData: Record<string, unknown>;
        /** @description A node of the graph has a new status. There is one per node and status, whatever the number of its firings. */
        NodeStatusEvent: components["schemas"]["JobEventBase"] & {
            /** @constant */
            type: "node_status";
            node_id: string;
            node_type: string;
            /** @enum {string} */
            status: "pending" | "running" | "completed" | "failed" | "skipped";
            /** @description How much is done, from 0 to 1, or null where that is not known. */
            progress: number | null;
            /** @description Why the node failed, in words that are safe to show. Only with `failed`. Optional. */
            error?: string;
        };
        /** @description One page of the types that flow between nodes, each with where it is used. */
        NodeTypeInventory: {
            /** @constant */
            version: 1;
            /** @description The revision of the node type registry. A client that sees it change between pages begins anew. */
            registry_revision: number;
            /**
             * @description The registry is loaded before the server listens.
             * @constant
             */
            registry_ready: true;
            /** @description How many node types there are. */
            node_count: number;
            /** @description How many types there are on all pages. */
            type_count: number;
            /** @description Where this page begins. */
            cursor: number;
            /** @description Where the next page begins, or null on the last one. */
            next_cursor: number | null;
            /** @description Sorted by signature. */
            types: components["schemas"]["InventoryType"][];
            /** @description Names of the node packs that could not be loaded. */
            unavailable_packs: string[];
        };
        /** @description An opaque identifier of well-formed Unicode. Clients must not derive routing, ownership or time from its format. */
        OpaqueId: string;
        /** @description Where the page begins, taken from `next` of the previous page. Opaque. */
        OptionalCursor: string | null;
        /** @description An output has a value whose bytes are stored as an asset. Beside it `value` is the value as the frame `output_update` has it: a reference to the asset with what describes it, such as its width and height. Events that were stored before there was such a member lack it. */
        OutputAssetEvent: components["schemas"]["JobEventBase"] & {
            /** @constant */
            type: "output_update";
            output_name: string;
            asset: components["schemas"]["AssetReference"];
            value?: components["schemas"]["JsonValue"];
        };
        /** @description An output of the workflow has a value: inline, or as an asset, beside which the value may stand with a reference in place of its bytes. */
        OutputUpdateEvent: components["schemas"]["OutputValueEvent"] | components["schemas"]["OutputAssetEvent"];
        /** @description An output has a value that is small enough to stand here. */
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
            /** @description The cost of what is known, or null where nothing is. */
            amount: number | null;
            /** @description An ISO 4217 code, or null without an amount. */
            currency: string | null;
            /**
             * @description Of a run that completes, by the prices that its models list. `exact`: prices per request alone, of nodes that certainly make one request each. `estimated`: with tokens that were counted, an answer's by the limit of the node or else taken to be 1,000, or with nodes of which that is not certain, as they may be skipped, tried again or held by a Catch: these are told with one request. `partial`: some nodes are not known. `unknown`: none is. A run that fails or is cancelled may cost less, and a provider may report another cost than its prices.
             * @enum {string}
             */
            confidence: "exact" | "estimated" | "partial" | "unknown";
            /** @description Ids of the nodes whose cost is not known. */
            unknown_cost_nodes: string[];
            /** @description Whether somebody has to approve the cost before the run. */
            approval_required: boolean;
        };
        /** @description Something that is wrong (`error`) or worth knowing (`warning`). */
        PreflightIssue: {
            /** @enum {string} */
            severity: "warning" | "error";
            /** @description `workflow_etag_mismatch`, `unknown_input`, `missing_input`, `input_type_mismatch`, `input_below_minimum`, `input_above_maximum`; `graph_` and the code of a workflow diagnostic: `graph_unknown_node`, `graph_duplicate_id`, `graph_missing_property`, `graph_dangling_edge`, `graph_unknown_handle`, `graph_type_mismatch`, `graph_fan_in`, `graph_illegal_cycle`, `graph_incomparable_scopes`, `graph_too_many_inputs`, `graph_too_many_outputs`, `graph_out_of_range`, `graph_invalid_expression`, as warnings `graph_unknown_property`, `graph_unknown_type`, `graph_ignored_handle`, `graph_unknown_name`, `graph_empty_graph`, `graph_unreachable_output`; of workflows that the run calls `called_workflow_not_found`, `called_workflow_invalid`, `called_workflow_unknown_input`, `called_workflow_missing_input`, `called_workflow_input_type_mismatch`, `called_workflow_input_below_minimum`, `called_workflow_input_above_maximum`, `called_workflow_too_deep`, as warnings `called_workflow_recursive`, `called_workflow_unknown`, `called_workflows_unchecked`; `tool_invalid` of agents; `execution_queue_full`, as warnings `execution_likely_queued`, `execution_capacity_unknown`; `over_budget`, an error where nothing is left to spend on models, else a warning; `more_issues` and `more_requirements` where there are too many to list, the latter an error where one of those is not met; where the preflight is kept with a job both as warnings, and also `more_unknown_cost_nodes`. Others may be added. */
            code: string;
            message: string;
            /** @description The node concerned, or null. */
            node_id: string | null;
            /** @description The input, property or handle concerned, or null. A longer name is cut, and ends in `…` and its SHA-256. */
            pin_name: string | null;
        };
        /**
         * @description How much is checked. `static`: the graph and its inputs. `availability`: also that everything it requires is there. `execution`: also that the target is ready.
         * @enum {string}
         */
        PreflightLevel: "static" | "availability" | "execution";
        /** @description Which run to check, and how thoroughly. */
        PreflightRequest: {
            workflow_id: components["schemas"]["OpaqueId"];
            /** @description The workspace in which the workflow is looked up. Absent means the caller's own. */
            workspace_id?: string | null;
            /** @description The etag that the client has seen. Another one is an issue, `workflow_etag_mismatch`. Absent means that any will do. */
            workflow_etag?: string | null;
            /**
             * @description The version of the workflow interface that the client goes by. There is only 1. Absent means `1`.
             * @enum {integer|null}
             */
            interface_version?: 1 | null;
            /**
             * @description How much is checked, each level including those before it. Absent means `static`.
             * @enum {string|null}
             */
            level?: "static" | "availability" | "execution" | null;
            /** @description Values of the workflow's inputs, by name. A null is a value where the input takes anything and is no stream; elsewhere it means that no value is given. Absent means none. */
            inputs?: {
                [key: string]: unknown;
            } | null;
            /** @description Where the run would take place. Absent means this server. */
            execution_target?: components["schemas"]["ExecutionTarget"] | null;
        };
        /** @description Something that the run needs. */
        PreflightRequirement: {
            /** @enum {string} */
            kind: "provider" | "credential" | "model" | "node_pack" | "runtime" | "asset" | "worker" | "approval";
            /** @description Unique together with `kind`. A longer one is cut, and ends in `…` and the SHA-256 of the whole. */
            id: string;
            /** @description The name as people read it. A longer one is cut, and ends in `…`. */
            name: string;
            /**
             * @description `unknown` where a read-only look did not tell in time.
             * @enum {string}
             */
            status: "available" | "missing" | "unavailable" | "downloading" | "unknown";
            /** @description Whether the run cannot do without it. */
            blocking: boolean;
            /** @description A sentence for people, or null. It never repeats what a probe was answered. */
            message: string | null;
            /** @description More about it, by kind. Optional. */
            details?: {
                [key: string]: unknown;
            };
        };
        /** @description What a run would need, what stands in its way and what it would cost. Making it has no side effect. */
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
            /** @description What the run would cost, or null where nothing of it has a price. Null at level `static`, where nobody is asked for prices. */
            cost: components["schemas"]["PreflightCost"] | null;
        };
        /** @description Ask what a run would need, without any side effect. */
        PreflightWorkflowCommand: {
            /** @constant */
            command: "preflight_workflow";
            data: components["schemas"]["PreflightRequest"];
            request_id: components["schemas"]["RequestId"];
            type?: components["schemas"]["ToleratedType"];
        };
        /** @description What a run would need. */
        PreflightWorkflowReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "preflight_workflow";
            result: components["schemas"]["PreflightSummary"];
        };
        /** @description One thing that is wrong with a request. */
        Problem: {
            /** @description Where it is, as a JSON pointer into the request (`/body/params/name`, `/query/limit`). */
            path: string;
            /** @description What is wrong, in one sentence. */
            message: string;
            /** @description A stable word for the kind of problem, where one exists. */
            code?: string;
        };
        /**
         * @description `disabled` means that the operator switched it off, `unavailable` that this server does not have it.
         * @enum {string}
         */
        ProfileState: "available" | "disabled" | "unavailable";
        /** @description How a result came about, normalised and redacted. It never holds credentials, authorization headers, secrets of providers or unbounded media. */
        Provenance: {
            workflow_id: components["schemas"]["OpaqueId"];
            /** @description The etag of the graph that ran, or null for an inline graph. */
            workflow_revision: string | null;
            /** @description The values of the workflow's inputs, by name. Bytes and encoded media above 16 KiB are told by `{type, content_type, size, sha256}`. So is an input whose JSON text, with those of the inputs before it, has more than a million bytes: by the size and the digest of that text, as `application/json`. */
            inputs: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            /** @description The providers that were called. */
            providers: string[];
            /** @description The models that were called, as `provider/model`. */
            models: string[];
            /** @description What the random numbers of the run were made from, or null where that is not known. */
            seed: number | null;
        };
        /** @description The body of a request refused before any handler saw it. */
        RefusedError: {
            /** @description `Unauthorized`, `Remote access requires authentication`, `invalid_token`, or the reason that the identity provider gave. */
            error: string;
        };
        /** @description Chosen by the client; correlates one command with exactly one `rpc_response`. It is not a job key. */
        RequestId: string;
        /** @description Ask for the cancellation of a job. */
        RequestJobCancellationCommand: {
            /** @constant */
            command: "request_job_cancellation";
            data: components["schemas"]["JobRequest"];
            request_id: components["schemas"]["RequestId"];
            type?: components["schemas"]["ToleratedType"];
        };
        /** @description What became of a cancellation. */
        RequestJobCancellationReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "request_job_cancellation";
            result: components["schemas"]["CancelJobResponse"];
        };
        /** @description JSON-safe outputs and an explicit list of every durable asset that they refer to. Large media is referred to. In each value, in its keys and in the names of assets, secrets of 8 characters or more that the service knows are replaced by `[redacted]`. Output names and node ids stay as the workflow has them. Texts of a stream are freed of the owner's secrets as the one text that they are together; those of a list one by one. */
        ResultManifest: {
            /** @constant */
            version: 1;
            job_id: components["schemas"]["OpaqueId"];
            completed_at: components["schemas"]["Timestamp"];
            /** @description By output name, as a run answers them: a list exactly when the workflow's interface declares that output `stream: true`. An output that got nothing is missing here; one whose value is null is null. */
            outputs: {
                [key: string]: components["schemas"]["JsonValue"];
            };
            assets: components["schemas"]["ManifestAsset"][];
            /** @description What the job's calls of models cost, those included that failed half-way. Null where nothing of it has a price, and where it was paid in several currencies. */
            cost: components["schemas"]["CostActual"] | null;
            provenance: components["schemas"]["Provenance"];
        };
        /** @description The value that a suspended job waits for. Name the waiting node by `node_id` or `name` where more than one waits. */
        ResumeJobRequest: {
            value: components["schemas"]["JsonValue"];
            /** @description The waiting node. */
            node_id?: string | null;
            /** @description The name under which the value is awaited. */
            name?: string | null;
        };
        /** @description The answer to an RPC command that failed, and to any command with a `request_id` that the server does not know or whose data is wrong, unless it is a job command. */
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
            /** @description `SERVICE_UNAVAILABLE` where a retry may help, else equal to `code`. */
            apiCode: string;
            /** @description Every problem found, up to a hundred. Optional. */
            problems?: components["schemas"]["Problem"][];
            /** @description True where more is wrong than the hundred problems that are listed. Optional. */
            more_problems?: boolean;
            /** @description The job that may have been stored, for a submission whose outcome is not known. Without it nothing was stored. Optional. */
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
        /** @description How the job is run. */
        SubmitJobOptions: {
            concurrent?: components["schemas"]["Concurrent"];
            /** @description True: generated files are temporary, and the result manifest is what counts. Absent means `true`. */
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
            /** @description The etag that the client has seen. The submission is refused where the workflow has another one. */
            workflow_etag: string;
            /**
             * @description The version of the workflow interface that the client goes by.
             * @constant
             */
            interface_version: 1;
            /** @description The workspace in which the workflow is looked up. Absent means the caller's own. */
            workspace_id?: string | null;
            /** @description Values of the workflow's inputs, by name. A null is a value where the input takes anything and is no stream; elsewhere it means that no value is given. Absent means none. */
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
             * @description `queued` while the job waits for its turn, `accepted` from then on, whatever has become of it. A snapshot says more.
             * @enum {string}
             */
            status: "accepted" | "queued";
            /** @description The place in the queue of a `queued` job, else null. */
            queue_position: number | null;
            /** @description True: an equivalent request was accepted earlier under the same key, and this is its job. */
            duplicate: boolean;
            accepted_at: components["schemas"]["Timestamp"];
            /** @description As much of the preflight as is kept with the job, the same as in its snapshots. */
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
        /** @description The job as it is; its events follow as `job_event` frames. */
        SubscribeJobReply: {
            /** @constant */
            type: "rpc_response";
            request_id: components["schemas"]["RequestId"];
            /** @constant */
            command: "subscribe_job";
            result: components["schemas"]["SubscribeJobResponse"];
        };
        /** @description Which job to follow, and from where. */
        SubscribeJobRequest: {
            job_id: components["schemas"]["OpaqueId"];
            /** @description The last sequence that the client has; 0 for none. Absent means `0`. */
            after_sequence?: number | null;
        };
        /** @description The job as it is, and which events follow as `job_event` frames: the retained ones after the given sequence, then live ones. */
        SubscribeJobResponse: {
            job_id: components["schemas"]["OpaqueId"];
            requested_after_sequence: components["schemas"]["LastSequence"];
            /** @description The first sequence that is replayed; null where nothing is missing, and where what is missing is not all kept any more. Then the snapshot stands for everything up to `replay_to_sequence`. */
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
            /** @description The file's name as it was sent, without folders and control characters, at most 255 characters; `file` and an ending where there was none. */
            name: string;
            /** @description The MIME type, of the bytes where they tell it, else as it was sent. */
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
        /** @description What one node of a suspended job waits for. */
        WaitingFor: {
            /** @description The waiting node; it may be named when the job is resumed, as it stands here or in the graph. */
            node_id: string;
            /**
             * @description `approval`: a decision of a person. `value`: a value from outside. `delay`: the passing of time, which needs no answer.
             * @enum {string}
             */
            kind: "approval" | "value" | "delay";
            /** @description The name under which a value is awaited, or null. It may be given as it stands here or in the graph. */
            name: string | null;
            /** @description What to show to the person who is asked, or null. */
            message: string | null;
            /** @description The JSON schema (2020-12, without formats) that the value must satisfy, or null where anything is accepted. What it holds of known secrets is redacted here, and counts when a value is judged. A node with a schema that can judge nothing fails with `bad_schema`. */
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
        /** @description Something about a graph that keeps it from running (`error`) or that its author should know (`warning`). */
        WorkflowDiagnostic: {
            /** @enum {string} */
            severity: "warning" | "error";
            /** @description A stable word: `unknown_node`, `duplicate_id`, `missing_property`, `dangling_edge`, `unknown_handle`, `type_mismatch`, `fan_in`, `illegal_cycle`, `incomparable_scopes`, `too_many_inputs` (a node has more than 20,000 dynamic inputs), `too_many_outputs` (a node has more than 20,000 outputs), `out_of_range` (an own value outside of a property's limits or choices), `invalid_expression` (a formula, code, pattern, path, template or schema that cannot be read); as warnings `unknown_property` (a key of `data` that is nearly a property), `unknown_type` (a dynamic input or output of a type that does not exist), `ignored_handle` (a dynamic input or output that the node type cannot have), `unknown_name` (a name in a text such as a template that no input has), `empty_graph` and `unreachable_output` (what a node gives reaches no output node); or one that is added later. */
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
            /** @description Whether a run must be given a value, because the workflow has none of its own. */
            required: boolean;
            /** @description The value where none is given; null where there is none. */
            default: string | number | boolean | null | unknown[] | Record<string, unknown>;
            /** @description The least number that is accepted. Optional. */
            min?: number;
            /** @description The greatest number that is accepted. Optional. */
            max?: number;
            /** @description Whether values may be sent while the job runs, with `stream_input`. Optional; absent means that they may not. */
            stream?: boolean;
        };
        /** @description What a workflow takes and gives, derived by the server from its graph. A graph that cannot run has diagnostics of severity `error`, and as much of its interface as can be told. */
        WorkflowInterface: {
            /** @constant */
            version: 1;
            workflow_id: components["schemas"]["OpaqueId"];
            etag: components["schemas"]["WorkflowEtag"];
            /**
             * @description Who derived it.
             * @constant
             */
            source: "server";
            inputs: components["schemas"]["WorkflowInput"][];
            outputs: components["schemas"]["WorkflowOutput"][];
            diagnostics: components["schemas"]["WorkflowDiagnostic"][];
        };
        /** @description Why one interface could not be read. */
        WorkflowInterfaceError: {
            workflow_id: components["schemas"]["OpaqueId"];
            /**
             * @description `workflow_not_found` also for one that belongs to somebody else.
             * @enum {string}
             */
            code: "workflow_not_found" | "invalid_graph";
            message: string;
        };
        /** @description Which workflows' interfaces to read at once. */
        WorkflowInterfacesRequest: {
            /** @description Workflow ids, without repetition. */
            ids: components["schemas"]["OpaqueId"][];
            /**
             * @description The version of the interface record. There is only 1. Absent means `1`.
             * @enum {integer|null}
             */
            version?: 1 | null;
        };
        /** @description The interfaces that could be read, in the order asked, and the reasons why the others could not. */
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
            /** @description Whether there may be any number of values; then the run's output is a list. */
            stream: boolean;
            /** @description How the values of a stream belong together: `items` for values of their own, `text` for pieces of one text. Optional. */
            stream_kind?: string;
        };
        /**
         * @description How a client presents the workflow: as a form that is run, as a chat, or as a small app. It has no meaning for a run.
         * @enum {string}
         */
        WorkflowRunMode: "workflow" | "chat" | "app";
        /** @description A workflow as pickers show it. */
        WorkflowSummary: {
            id: components["schemas"]["OpaqueId"];
            name: string;
            description: string;
            /** @description The workflow's `etag`. An interface that was read under the same revision is still the right one. */
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
