// What a user of the Go client of oapi-codegen writes. Arguments: URL, token, workflow.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	service "example.org/client"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	ctx := context.Background()
	// Without it the events are a stream of text.
	asJson := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Accept", "application/json")
		return nil
	}
	withToken := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Args[2])
		return nil
	}
	client, err := service.NewClientWithResponses(os.Args[1], service.WithRequestEditorFn(withToken), service.WithRequestEditorFn(asJson))
	check(err)

	var workflow service.CreateWorkflowRequest
	check(json.Unmarshal([]byte(os.Args[3]), &workflow))
	made, err := client.CreateWorkflowWithResponse(ctx, workflow)
	check(err)

	params := map[string]interface{}{"name": "Ada"}
	run, err := client.RunWorkflowWithResponse(ctx, made.JSON201.Id, service.RunRequest{Params: &params})
	check(err)
	fmt.Println(run.JSON200.Outputs["greeting"])

	jobs, err := client.ListJobsWithResponse(ctx, nil)
	check(err)
	job, err := (*jobs.JSON200)[0].AsJobSnapshotCompleted()
	check(err)
	fmt.Println(len(*jobs.JSON200), "job", job.Status)

	after := service.LastSequence(0)
	events, err := client.FollowJobEventsWithResponse(ctx, job.JobId, &service.FollowJobEventsParams{AfterSequence: &after})
	check(err)
	end, err := (*events.JSON200)[len(*events.JSON200)-1].AsJobCompletedEvent()
	check(err)
	fmt.Println(end.Type, end.Status)

	none, err := client.GetWorkflowWithResponse(ctx, "wf_none")
	check(err)
	fmt.Println(none.JSON404.Error.Code, none.JSON404.Error.Type)
}
