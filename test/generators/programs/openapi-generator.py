# What a user of the Python client of openapi-generator writes. Arguments: URL, token, workflow.
import sys

import openapi_client as service

configuration = service.Configuration(host=sys.argv[1], access_token=sys.argv[2])
with service.ApiClient(configuration) as client:
    workflows, jobs = service.WorkflowsApi(client), service.JobsApi(client)
    made = workflows.create_workflow(service.CreateWorkflowRequest.from_json(sys.argv[3]))

    result = workflows.run_workflow(made.id, service.RunRequest(params={"name": "Ada"}))
    print(result.outputs["greeting"])

    listed = jobs.list_jobs()
    job = listed[0].actual_instance
    assert isinstance(job, service.JobSnapshotCompleted)
    print(len(listed), "job", job.status.value)

    events = jobs.follow_job_events(job.job_id, after_sequence=0)
    end = events[-1].actual_instance
    assert isinstance(end, service.JobCompletedEvent)
    print(end.type.value, end.status.value)

    try:
        workflows.get_workflow("wf_none")
    except service.ApiException as failure:
        print(failure.data.error.code, failure.data.error.type)
