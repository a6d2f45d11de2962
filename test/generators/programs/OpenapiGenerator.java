// What a user of the Java client of openapi-generator writes. Arguments: URL, token, workflow.
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.JobsApi;
import org.openapitools.client.api.WorkflowsApi;
import org.openapitools.client.model.ApiError;
import org.openapitools.client.model.CreateWorkflowRequest;
import org.openapitools.client.model.RunRequest;

public class OpenapiGenerator {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.setBasePath(args[0]);
    client.setBearerToken(args[1]);
    WorkflowsApi workflows = new WorkflowsApi(client);
    JobsApi jobs = new JobsApi(client);

    var made = workflows.createWorkflow(CreateWorkflowRequest.fromJson(args[2]));

    var result = workflows.runWorkflow(made.getId(), new RunRequest().params(Map.of("name", "Ada")));
    System.out.println(result.getOutputs().get("greeting"));

    var listed = jobs.listJobs(null, null, null, null);
    var job = listed.get(0).getJobSnapshotCompleted();
    System.out.println(listed.size() + " job " + job.getStatus().getValue());

    var events = jobs.followJobEvents(job.getJobId(), 0L, null);
    var end = events.get(events.size() - 1).getJobCompletedEvent();
    System.out.println(end.getType().getValue() + " " + end.getStatus().getValue());

    try {
      workflows.getWorkflow("wf_none");
    } catch (ApiException failure) {
      var error = ApiError.fromJson(failure.getResponseBody()).getError();
      System.out.println(error.getCode() + " " + error.getType());
    }
  }
}
